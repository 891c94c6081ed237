"""Hypothesis strategies for genomes and the words that go with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

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
