"""Insert mutation (Eiben and Smith 2015, section 4.5.1): an item moves next to another.

The later of two random items moves to directly behind the earlier one; those in between are
shifted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import Words, distinct_pair


@kernel
def insert(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: Words) -> None:
    """Move a random item behind an earlier one.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> insert(genome, np.array([True]), np.array([[0, 2**32 - 1]], np.uint32))
    >>> genome.tolist()
    [[0, 3, 1, 2]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, second = distinct_pair(words[i, 0], words[i, 1], length)
            item = offspring[i, second]
            for position in range(second, first + 1, -1):
                offspring[i, position] = offspring[i, position - 1]
            offspring[i, first + 1] = item
