"""Random permutations are permutations, and all equally likely."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import chisquare

from tacit.search.genomes import random_permutations
from tests.search.permutations import WORDS
from tests.search.words_for import random_words


@given(
    st.tuples(st.integers(1, 4), st.integers(1, 40)).flatmap(
        lambda shape: arrays(np.uint32, shape, elements=WORDS)
    )
)
def test_any_words_give_permutations(drawn: NDArray[np.uint32]) -> None:
    genomes = random_permutations(drawn)
    assert genomes.dtype == np.int32
    assert (np.sort(genomes, axis=1) == np.arange(drawn.shape[1])).all()


@pytest.mark.parametrize("length", [3, 4])
def test_all_permutations_are_equally_likely(length: int) -> None:
    drawn = random_words(21, 24_000, length)
    seen = Counter(tuple(row) for row in random_permutations(drawn).tolist())
    assert set(seen) == set(permutations(range(length)))
    assert chisquare(list(seen.values())).pvalue > 0.001
