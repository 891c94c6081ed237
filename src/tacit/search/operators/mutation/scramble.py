"""Scramble mutation (Eiben and Smith 2015, section 4.5.1): a segment is shuffled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, below, distinct_pair


@kernel
def scramble(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Shuffle the items between two random positions, both included.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> scramble(genome, np.array([True]), np.array([[0, 2**31, 0, 0, 0, 0]], np.uint32))
    >>> genome.tolist()
    [[1, 2, 0, 3]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, last = distinct_pair(words[i, 0], words[i, 1], length)
            for position in range(last, first, -1):
                other = first + below(words[i, 2 + position], position - first + 1)
                item = offspring[i, position]
                offspring[i, position] = offspring[i, other]
                offspring[i, other] = item
