"""Random words, and the numbers made from them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from tacit.search.genomes import WORD_RANGE, below, distinct_pair, draw_words, threshold
from tests.search.words_for import random_words, word_for

WORD = st.integers(0, 2**32 - 1)


def generator(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


@given(WORD, st.integers(1, 10_000))
def test_below_is_the_words_share_of_the_bound(word: int, bound: int) -> None:
    number = below(np.uint32(word), bound)
    assert number == word * bound >> 32
    assert 0 <= number < bound


@pytest.mark.parametrize("bound", [1, 2, 3, 9, 100, 2**31 - 1])
def test_below_reaches_both_ends(bound: int) -> None:
    assert below(np.uint32(0), bound) == 0
    assert below(np.uint32(2**32 - 1), bound) == bound - 1
    assert below(np.uint32(word_for(bound - 1, bound)), bound) == bound - 1


@pytest.mark.parametrize("bound", [2, 3, 10, 97])
def test_below_is_even(bound: int) -> None:
    seen = Counter(below(word, bound) for word in random_words(1, 20_000))
    assert set(seen) == set(range(bound))
    assert chisquare(list(seen.values())).pvalue > 0.001


@given(WORD, WORD, st.integers(2, 1000))
def test_distinct_pairs_are_distinct_ordered_and_in_range(
    first: int, second: int, bound: int
) -> None:
    low, high = distinct_pair(np.uint32(first), np.uint32(second), bound)
    assert 0 <= low < high < bound


@pytest.mark.parametrize("bound", [2, 3, 7])
def test_all_pairs_are_equally_likely(bound: int) -> None:
    drawn = random_words(2, 20_000, 2)
    seen = Counter(distinct_pair(first, second, bound) for first, second in drawn)
    assert len(seen) == bound * (bound - 1) // 2
    if len(seen) > 1:
        assert chisquare(list(seen.values())).pvalue > 0.001


def test_words_are_the_halves_of_the_generators_raw_stream_low_half_first() -> None:
    raw = generator(5).bit_generator.random_raw(3)
    halves = [half for word in map(int, raw) for half in (word % 2**32, word >> 32)]
    assert draw_words(generator(5), 6).tolist() == halves
    assert draw_words(generator(5), 5).tolist() == halves[:5]


def test_the_stream_is_the_same_everywhere() -> None:
    # Raw PCG64 words are fixed by NumPy's promise; a change here would change every run.
    assert draw_words(generator(1), 3).tolist() == [2032329983, 2198257139, 3243419750]
    assert draw_words(generator(0), 2).dtype == np.uint32


def test_draws_go_on_where_the_last_one_ended() -> None:
    rng = generator(9)
    parts = [draw_words(rng, 4), draw_words(rng, 0), draw_words(rng, 6)]
    assert np.concatenate(parts).tolist() == draw_words(generator(9), 10).tolist()


def test_a_run_depends_on_raw_words_and_not_on_distributions() -> None:
    used, fresh = generator(3), generator(3)
    draw_words(used, 7)
    fresh.bit_generator.random_raw(4)
    assert used.bit_generator.state == fresh.bit_generator.state


@pytest.mark.parametrize("percent", [0, 1, 25, 50, 75, 95, 100])
def test_thresholds_are_met_as_often_as_they_say(percent: int) -> None:
    bound = threshold(percent / 100)
    assert bound == round(percent / 100 * WORD_RANGE)
    hits = int((random_words(4, 20_000) < bound).sum())
    assert hits == pytest.approx(20_000 * percent / 100, abs=250)
    if percent in (0, 100):
        assert hits == 20_000 * percent // 100
