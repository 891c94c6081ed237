"""Public tie-breaks: which of equal candidates wins, by phase, step and group.

They follow from a seed that was drawn after the costs were frozen, so the same ones can be had
again after any phase. Each weighting has its own, whichever others are solved beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

START = -1
"""The phase before the first."""
ROOTS, PROFITS, ORDER, FIRST_STEP = 0, 1, 2, 3
"""The steps of a phase; those of the paths follow each other from the last."""


@dataclass(frozen=True, slots=True)
class Coins:
    """The tie-breaks of some weightings.

    >>> Coins(1, (0,)).ties(0, ROOTS, 1, 3).shape
    (1, 1, 3)
    """

    seed: int
    weightings: Sequence[int] = (0,)

    def ties(self, phase: int, step: int, groups: int, candidates: int) -> NDArray[np.intp]:
        """A permutation of 0, 1, ... for each group of each weighting."""
        drawn = []
        for weighting in self.weightings:
            # As elsewhere, raw words of PCG64, which are the same in every version of NumPy.
            source = np.random.PCG64([self.seed, weighting, phase + 1, step])
            drawn.append(source.random_raw(groups * candidates).reshape(groups, candidates))
        return np.argsort(np.stack(drawn), axis=-1)
