"""Random genomes to start from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, below


@kernel
def random_permutations(words: RandomWords) -> NDArray[np.int32]:
    """One uniformly random permutation per row of `words` (Fisher and Yates).

    >>> random_permutations(np.zeros((1, 4), np.uint32))
    array([[1, 2, 3, 0]], dtype=int32)
    """
    count, length = words.shape
    genomes = np.empty((count, length), dtype=np.int32)
    for i in range(count):
        for position in range(length):
            genomes[i, position] = position
        for position in range(length - 1, 0, -1):
            other = below(words[i, position], position + 1)
            item = genomes[i, position]
            genomes[i, position] = genomes[i, other]
            genomes[i, other] = item
    return genomes
