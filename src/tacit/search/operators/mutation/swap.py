"""Swap mutation (Eiben and Smith 2015, section 4.5.1): two items change places."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, distinct_pair


@kernel
def swap(offspring: NDArray[np.int32], chosen: NDArray[np.bool_], words: RandomWords) -> None:
    """Exchange two random items.

    >>> genome = np.array([[0, 1, 2, 3]], dtype=np.int32)
    >>> swap(genome, np.array([True]), np.array([[0, 2**31]], np.uint32))
    >>> genome.tolist()
    [[2, 1, 0, 3]]
    """
    length = offspring.shape[1]
    if length < 2:
        return
    for i in range(chosen.shape[0]):
        if chosen[i]:
            first, second = distinct_pair(words[i, 0], words[i, 1], length)
            item = offspring[i, first]
            offspring[i, first] = offspring[i, second]
            offspring[i, second] = item
