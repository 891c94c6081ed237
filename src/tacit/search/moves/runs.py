"""What children move, as runs of neighbouring positions: a long inversion is one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Runs:
    """Each: a child fills `length` positions from `to` on with what was from `source` on.

    The source goes on by `step`, 1 or -1. Positions are counted inside the child's block.

    >>> turned = Runs(*(np.array([k]) for k in (7, 2, 4, 3, -1)))
    >>> [each.tolist() for each in turned.expanded()]
    [[7, 7, 7], [2, 3, 4], [4, 3, 2]]
    """

    child: Indices
    to: Indices
    source: Indices
    length: Indices
    step: Indices

    @classmethod
    def single(
        cls,
        child: Indices | Sequence[int],
        to: Indices | Sequence[int],
        source: Indices | Sequence[int],
    ) -> Runs:
        """Runs of one position each."""
        ones = np.ones(len(child), dtype=np.intp)
        first, second, third = (np.asarray(each, dtype=np.intp) for each in (child, to, source))
        return cls(first, second, third, ones, ones)

    def __getitem__(self, which: NDArray[np.bool_]) -> Runs:
        """Some of them."""
        every = (self.child, self.to, self.source, self.length, self.step)
        return Runs(*(each[which] for each in every))

    def expanded(self) -> tuple[Indices, Indices, Indices]:
        """Child, new position and old position of everything that moves."""
        run = np.repeat(np.arange(len(self.child)), self.length)
        begins = np.cumsum(self.length) - self.length
        along = np.arange(len(run)) - begins[run]
        return self.child[run], self.to[run] + along, self.source[run] + self.step[run] * along
