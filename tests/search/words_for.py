"""Random words that make an operator decide as a test wants, and strategies for genomes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
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


LENGTHS = st.integers(1, 40)

# The ends of the range and the middle are where a decision tips over.
WORDS = st.one_of(st.sampled_from([0, 2**31 - 1, 2**31, 2**32 - 1]), st.integers(0, 2**32 - 1))


@st.composite
def populations(
    draw: st.DrawFn, *, count: int, words_per_row: Callable[[int], int], rows_of_words: int
) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
    """`count` permutations of one length between 1 and 40, and words for an operator."""
    length = draw(LENGTHS)
    genomes = [draw(st.permutations(range(length))) for _ in range(count)]
    shape = (rows_of_words, words_per_row(length))
    words = draw(arrays(np.uint32, shape, elements=WORDS))
    return np.array(genomes, dtype=np.int32).reshape(count, length), words
