"""Inversion mutation (Eiben and Smith 2015, section 4.5.1): a segment is reversed.

On a tour this exchanges two edges and leaves all others, the classical 2-opt move.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, distinct_pair


@kernel
def inversion(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Reverse the items between two random positions, both included.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> inversion(genome, np.array([True]), np.array([[0, 2**31]], np.uint32))
    >>> genome.tolist()
    [[2, 1, 0, 3]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, last = distinct_pair(words[i, 0], words[i, 1], length)
            while first < last:
                item = offspring[i, first]
                offspring[i, first] = offspring[i, last]
                offspring[i, last] = item
                first += 1
                last -= 1
