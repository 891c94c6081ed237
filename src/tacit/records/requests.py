"""Names of attempts and requests, which nodes and coordinator derive alike.

Candidates travel as whole numbers in one or two bytes. A hash names a request, and the context of
an attempt binds all its messages to that hash.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.sizes import MOST_CANDIDATES
from tacit.problems import Problem

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
        return cls(f"{number}:{epoch}:{count}")

    @property
    def number(self) -> int:
        """Return the number of the evaluation or step; 0 for none."""
        return int(self.partition(":")[0] or 0)

    @property
    def epoch(self) -> int:
        """Return the epoch that it was computed in; 0 for none."""
        return int(self.partition(":")[2].partition(":")[0] or 0)


NO_ATTEMPT = Attempt()


def encode_attempt(value: object, /) -> str:
    if not isinstance(value, Attempt):
        raise TypeError(f"{type(value).__name__} is not a type of a message")
    return str(value)


def decode_attempt(kind: type, value: object, /) -> Attempt:
    # Names of attempts come from platforms and peers, and are written into logs.
    if kind is not Attempt or not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise ValueError(f"{str(value)[:80]!r} does not name an attempt")
    return Attempt(value)


REVEAL_NUMBER = 1 << 63
"""The number of the final reveal, beyond those of all evaluations."""
COUNT_NUMBER = REVEAL_NUMBER + 1
"""That of the account of a run."""


def _dtype(columns: int) -> np.dtype[Any]:
    return np.dtype("u1") if columns <= 256 else np.dtype("<u2")


def pack_candidates(problem: Problem, plans: NDArray[np.integer[Any]], /) -> bytes:
    r"""Encode plans, one per row, as the nodes take them.

    >>> from tacit.problems import generate_assignment
    >>> pack_candidates(generate_assignment(1, rows=2, columns=3), np.array([[2, 0]]))
    b'\x02\x00'
    """
    return np.ascontiguousarray(plans, dtype=_dtype(problem.columns)).tobytes()


def unpack_candidates(problem: Problem, data: bytes, /) -> NDArray[np.integer[Any]] | None:
    """Return plans from their bytes, or None if these are not a whole number of plans."""
    dtype = _dtype(problem.columns)
    size = problem.plan_length * dtype.itemsize
    # From a platform: refused by its length alone, before it becomes an array.
    if not data or len(data) % size or len(data) // size > MOST_CANDIDATES:
        return None
    return np.frombuffer(data, dtype=dtype).reshape(-1, problem.plan_length)


def request_hash(kind: str, disclosure: str, best: str, candidates: bytes, /) -> bytes:
    """Return the hash that names a request: two with the same hash get the same answer."""
    # With kind and disclosure: another request about the same plans must not get this one's answer.
    words = f"tacit request/1\n{kind}\n{disclosure}\n{best}\n".encode()
    return hashlib.sha256(words + candidates).digest()


def candidate_hashes(plans: NDArray[np.integer[Any]], /) -> set[bytes]:
    """Return a short hash of each plan, to know it again."""
    # One width whatever the number of columns, so that a plan has one hash.
    rows = np.ascontiguousarray(plans, dtype="<u2")
    size = rows.shape[1] * 2
    data = rows.tobytes()
    return {
        hashlib.blake2b(data[at : at + size], digest_size=16).digest()
        for at in range(0, len(data), size)
    }


def plan_hash(search: int, attempt: Attempt, /) -> bytes:
    """Return the hash that names a request to open the plan that an attempt left."""
    return hashlib.sha256(f"tacit request/2\nopen\n{search}\n{attempt}\n".encode()).digest()
