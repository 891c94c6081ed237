"""Random words that make an operator decide as a test wants."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def word_for(wanted: int, bound: int) -> int:
    """The smallest word that `below` turns into `wanted` out of 0..bound-1."""
    return -(-wanted * 2**32 // bound)


def words(*rows: list[int]) -> NDArray[np.uint32]:
    """Rows of words as operators take them."""
    return np.array(rows, dtype=np.uint32)


def words_for_pair(first: int, second: int, bound: int) -> list[int]:
    """Two words that `distinct_pair` turns into the positions first < second."""
    return [word_for(first, bound), word_for(second - 1, bound - 1)]


def genomes(*rows: list[int] | str) -> NDArray[np.int32]:
    """Permutations, also as textbooks print them: digits from 1 on."""
    return np.array(
        [[int(d) - 1 for d in row] if isinstance(row, str) else row for row in rows],
        dtype=np.int32,
    )


def printed(genome: NDArray[np.int32]) -> str:
    """A permutation of nine as textbooks print it."""
    return "".join(str(item + 1) for item in genome)


def random_words(seed: int, *shape: int) -> NDArray[np.uint32]:
    """Random words of a fixed stream."""
    rng = np.random.Generator(np.random.PCG64(seed))
    return rng.integers(0, 2**32, size=shape, dtype=np.uint32)
