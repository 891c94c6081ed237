"""Attempts: every computation of an evaluation or of steps has a name of its own."""

from __future__ import annotations

import re

_TEXT = re.compile(r"([0-9]{1,20}:[0-9]{1,20}:[0-9]{1,5})?")


class Attempt(str):
    """The name of an attempt, `number:epoch:count`; empty for none.

    The number is that of the evaluation, or of the last step. The shares that an attempt
    leaves at the nodes are kept under its name.

    >>> Attempt.of(7, 123, 0), Attempt("7:123:0").number, Attempt().number
    ('7:123:0', 7, 0)
    >>> Attempt("7:123:0").epoch, Attempt().epoch
    (123, 0)
    """

    __slots__ = ()

    @classmethod
    def of(cls, number: int, epoch: int, count: int, /) -> Attempt:
        """The attempt with this count, in an epoch."""
        return cls(f"{number}:{epoch}:{count}")

    @property
    def number(self) -> int:
        """The number of the evaluation or step; 0 for none."""
        return int(self.partition(":")[0] or 0)

    @property
    def epoch(self) -> int:
        """The epoch that it was computed in; 0 for none."""
        return int(self.partition(":")[2].partition(":")[0] or 0)


NO_ATTEMPT = Attempt()


def encode_attempt(value: object, /) -> str:
    """What msgspec writes for an attempt, which it does not know."""
    if not isinstance(value, Attempt):
        raise TypeError(f"{type(value).__name__} is not a type of a message")
    return str(value)


def decode_attempt(kind: type, value: object, /) -> Attempt:
    """An attempt as msgspec reads it."""
    if kind is not Attempt or not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise ValueError(f"{str(value)[:80]!r} does not name an attempt")
    return Attempt(value)
