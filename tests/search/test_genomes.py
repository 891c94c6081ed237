"""Random words, the numbers made from them, random genomes and their repair."""

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

from tacit.search.genomes import (
    WORD_RANGE,
    below,
    distinct_pair,
    draw_words,
    random_permutations,
    repair,
    threshold,
)
from tests.search.words_for import WORDS, random_words, word_for

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


@st.composite
def feasible_masks(draw: st.DrawFn) -> tuple[NDArray[np.bool_], NDArray[np.int32], int]:
    """A mask around a hidden plan (balanced or not), some genomes, and a seed for words."""
    columns = draw(st.integers(1, 14))
    rows = draw(st.integers(1, columns))
    hidden = draw(st.permutations(range(columns)))[:rows]
    rng = np.random.Generator(np.random.PCG64(draw(st.integers(0, 2**32))))
    # Sparse masks leave no exchange that helps, so that augmenting paths are needed.
    allowed = rng.random((rows, columns)) < draw(st.sampled_from([0.0, 0.1, 0.2, 0.4, 0.8]))
    allowed[np.arange(rows), hidden] = True
    genomes = np.array([rng.permutation(columns) for _ in range(4)], dtype=np.int32)
    return allowed, genomes, draw(st.integers(0, 2**32))


@given(feasible_masks())
def test_repaired_genomes_are_permutations_that_respect_the_mask(
    drawn: tuple[NDArray[np.bool_], NDArray[np.int32], int],
) -> None:
    allowed, genomes, seed = drawn
    rows, columns = allowed.shape
    repair(genomes, allowed, random_words(seed, len(genomes)))
    for genome in genomes:
        assert sorted(genome.tolist()) == list(range(columns))
        assert allowed[np.arange(rows), genome[:rows]].all()


@given(feasible_masks())
def test_feasible_genomes_stay_as_they_are(
    drawn: tuple[NDArray[np.bool_], NDArray[np.int32], int],
) -> None:
    allowed, genomes, seed = drawn
    repair(genomes, allowed, random_words(seed, len(genomes)))
    before = genomes.copy()
    repair(genomes, allowed, random_words(seed + 1, len(genomes)))
    assert (genomes == before).all()


@pytest.mark.parametrize("size", [1, 2, 3, 8, 40])
def test_a_mask_with_a_single_plan_is_met_by_augmenting_paths(size: int) -> None:
    # Row r may take column r or any before it: the only plan is the identity, and from the
    # reversed genome hardly any single exchange helps.
    allowed = np.tril(np.ones((size, size), dtype=np.bool_))
    genomes = np.arange(size, dtype=np.int32)[::-1].copy()[None, :]
    repair(genomes, allowed, random_words(1, 1))
    assert genomes[0].tolist() == list(range(size))


def test_few_rows_pull_columns_in_from_the_rest_of_the_genome() -> None:
    allowed = np.zeros((2, 6), dtype=np.bool_)
    allowed[0, 4] = allowed[1, 5] = True
    genomes = np.arange(6, dtype=np.int32)[None, :].copy()
    repair(genomes, allowed, random_words(1, 1))
    assert genomes[0, :2].tolist() == [4, 5]
    assert sorted(genomes[0].tolist()) == list(range(6))


def test_no_allowed_column_is_favoured() -> None:
    # Row 0 may take anything but its own column 0; whom it exchanges with is the word's choice.
    allowed = np.ones((8, 8), dtype=np.bool_)
    allowed[0, 0] = False
    genomes = np.tile(np.arange(8, dtype=np.int32), (8000, 1))
    repair(genomes, allowed, random_words(31, 8000))
    taken = np.bincount(genomes[:, 0], minlength=8)
    assert taken[0] == 0
    # The search starts at a random place; place 0 itself moves on to 1.
    assert (taken[2:] > 800).all()
    assert taken[1] == pytest.approx(2000, rel=0.15)
