"""Public tie-breaks: which of equal candidates a minimum takes.

They are a function of the seed, the weighting and the iteration, never of the attempt: an
iteration that is repeated after a crash leads to the same state again. Its shuffles are new, so the
orders that it opens are, too. The seed is drawn after the costs are frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]
FIRST_PRICES = 0
"""The number of the minimum before the first iteration; iterations count from 1."""
PROOF = -1
"""The number of the minimum of the certificate."""


@dataclass(frozen=True, slots=True)
class Ties:
    """The tie-breaks of some weightings, each with its own.

    >>> Ties(7).drawn(FIRST_PRICES, 3).shape
    (1, 3, 3)
    """

    seed: int
    weightings: Sequence[int] = (0,)

    def drawn(self, iteration: int, size: int) -> Indices:
        """Return a permutation of 0, 1, ... for each group of each weighting."""
        words = []
        for weighting in self.weightings:
            # Raw words of PCG64 are the same in every version of NumPy.
            source = np.random.PCG64([self.seed, weighting, iteration + 1])
            words.append(source.random_raw(size * size).reshape(size, size))
        return np.argsort(np.stack(words), axis=-1)

    def own_first(self, iteration: int, size: int) -> Indices:
        """Return tie-breaks by which a column prefers itself among equal candidates.

        So a column's least candidate is another column only if its price falls: the marks of a
        minimum are then exactly the parents that change.

        >>> Ties(7).own_first(1, 3)[0].diagonal()
        array([0, 0, 0])
        """
        ties = self.drawn(iteration, size) + 1
        index = np.arange(size)
        ties[:, index, index] = 0
        return ties
