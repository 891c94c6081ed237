"""The result of a ranking, and the check that it is one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.shares import BitShare


@dataclass(frozen=True, slots=True)
class Ranking:
    """Public ranks of shuffled positions (0 is best), and the signs that were kept secret."""

    ranks: NDArray[np.intp]
    kept: BitShare
    batches: tuple[int, ...]
    """How many comparisons each batch opened; the cost follows from them."""

    def position(self, rank: int) -> int:
        """The shuffled position that has this rank."""
        return int(np.flatnonzero(self.ranks == rank)[0])


def check_total_order(ranks: NDArray[np.intp]) -> None:
    """Abort unless each rank occurs once, which holds for a transitive tournament only.

    Weights out of range make comparisons cyclic, and the shape of a cycle depends on the data.

    >>> check_total_order(np.array([1, 1, 1]))
    Traceback (most recent call last):
    tacit.errors.AbortError: the nodes: the opened comparisons form no order; an input is out of \
range
    """
    if not np.array_equal(np.bincount(ranks, minlength=len(ranks)), np.ones(len(ranks))):
        raise no_order()


def no_order() -> AbortError:
    """The error for comparisons that contradict each other."""
    what = "the opened comparisons form no order; an input is out of range"
    return AbortError("the nodes", what)
