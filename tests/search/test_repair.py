"""Repair: whatever the mask, as long as some plan exists, genomes end up feasible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.search.genomes import repair
from tests.search.words_for import random_words


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
