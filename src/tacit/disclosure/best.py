"""What is disclosed of the best fitness of an evaluation: its value, one bit, or nothing."""

from __future__ import annotations

from enum import StrEnum

from tacit.errors import DisclosureError


class BestMode(StrEnum):
    """How much of the best fitness an evaluation reveals.

    >>> BestMode("improvement").revealed(7, best_so_far=5)
    True
    >>> BestMode("value").revealed(7, best_so_far=5)
    7
    """

    VALUE = "value"
    IMPROVEMENT = "improvement"
    NOTHING = "nothing"

    def revealed(self, best: int, *, best_so_far: int | None) -> int | bool | None:
        """What is disclosed, given the best of this evaluation and of all before."""
        if self is BestMode.VALUE:
            return best
        if self is BestMode.IMPROVEMENT:
            return best_so_far is None or best > best_so_far
        return None


def parse_best_mode(text: str, /) -> BestMode:
    """Read a best-mode.

    >>> parse_best_mode("nothing")
    <BestMode.NOTHING: 'nothing'>
    """
    try:
        return BestMode(text)
    except ValueError:
        raise DisclosureError(
            f"{text!r} is not a way to disclose the best fitness; use value, improvement or nothing"
        ) from None
