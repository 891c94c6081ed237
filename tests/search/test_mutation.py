"""Mutations against the worked examples of Eiben and Smith (2015, section 4.5.1) and in general.

The textbook picks the second and the fifth position of 123456789.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from tacit.errors import ParameterError
from tacit.search.mutation import mutation_named, mutations
from tests.search.words_for import (
    genomes,
    populations,
    printed,
    random_words,
    word_for,
    words,
    words_for_pair,
)

NAMES = sorted(mutations())
SECOND_AND_FIFTH = words_for_pair(1, 4, 9)

Drawn = tuple[NDArray[np.int32], NDArray[np.uint32]]


def mutant_of(name: str, genome: NDArray[np.int32], drawn: NDArray[np.uint32]) -> list[int]:
    mutant = genome.copy()
    mutation_named(name).mutate(mutant, np.array([True]), drawn)
    return [int(item) for item in mutant[0]]


def positions(drawn: NDArray[np.uint32], length: int) -> tuple[int, int]:
    """The two positions that words stand for: any first, any other second."""
    first = int(drawn[0, 0]) * length >> 32
    others = [position for position in range(length) if position != first]
    second = others[int(drawn[0, 1]) * len(others) >> 32]
    return min(first, second), max(first, second)


@pytest.mark.parametrize(
    ("name", "mutant"),
    [("swap", "153426789"), ("insert", "125346789"), ("inversion", "154326789")],
)
def test_the_textbooks_mutants(name: str, mutant: str) -> None:
    genome = genomes("123456789")
    mutation_named(name).mutate(genome, np.array([True]), words(SECOND_AND_FIFTH))
    assert printed(genome[0]) == mutant


def test_the_textbooks_scramble() -> None:
    # 2345 becomes 3542: the last place takes the first item, the third keeps what it has, the
    # second takes the first.
    genome = genomes("123456789")
    shuffle = [0, 0, 0, word_for(2, 3), word_for(0, 4), 0, 0, 0, 0]
    mutation_named("scramble").mutate(genome, np.array([True]), words(SECOND_AND_FIFTH + shuffle))
    assert printed(genome[0]) == "135426789"


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_permutations_in_permutations_out(name: str, data: st.DataObject) -> None:
    mutation = mutation_named(name)
    before, drawn = data.draw(
        populations(count=3, words_per_row=mutation.words_per_genome, rows_of_words=3)
    )
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=3, max_size=3)))
    after = before.copy()
    mutation.mutate(after, chosen, drawn)
    for i in range(3):
        assert sorted(after[i].tolist()) == list(range(before.shape[1]))
        if not chosen[i]:
            assert (after[i] == before[i]).all(), "a genome that is not chosen stays"


@given(populations(count=1, words_per_row=lambda length: 2, rows_of_words=1))
def test_swap_exchanges_exactly_two_positions(drawn: Drawn) -> None:
    genome, drawn_words = drawn
    mutant = mutant_of("swap", *drawn)
    changed = [i for i, item in enumerate(genome[0].tolist()) if mutant[i] != item]
    if len(mutant) == 1:
        assert changed == []
        return
    assert tuple(changed) == positions(drawn_words, len(mutant))
    assert mutant[changed[0]] == genome[0, changed[1]]
    assert mutant[changed[1]] == genome[0, changed[0]]


@given(populations(count=1, words_per_row=lambda length: 2, rows_of_words=1))
def test_inversion_reverses_one_segment(drawn: Drawn) -> None:
    genome = drawn[0][0].tolist()
    mutant = mutant_of("inversion", *drawn)
    if len(genome) > 1:
        first, last = positions(drawn[1], len(genome))
        genome[first : last + 1] = genome[first : last + 1][::-1]
    assert mutant == genome


@given(populations(count=1, words_per_row=lambda length: 2, rows_of_words=1))
def test_insert_moves_the_later_item_behind_the_earlier_and_keeps_the_others_in_order(
    drawn: Drawn,
) -> None:
    genome = drawn[0][0].tolist()
    mutant = mutant_of("insert", *drawn)
    if len(genome) == 1:
        assert mutant == genome
        return
    first, second = positions(drawn[1], len(genome))
    moved = genome[second]
    assert mutant[first + 1] == moved
    assert mutant.index(genome[first]) == first
    assert [i for i in mutant if i != moved] == [i for i in genome if i != moved]


@given(populations(count=1, words_per_row=lambda length: length + 2, rows_of_words=1))
def test_scramble_stays_within_its_segment(drawn: Drawn) -> None:
    genome = drawn[0][0].tolist()
    mutant = mutant_of("scramble", *drawn)
    if len(genome) == 1:
        assert mutant == genome
        return
    first, last = positions(drawn[1], len(genome))
    assert mutant[:first] == genome[:first]
    assert mutant[last + 1 :] == genome[last + 1 :]
    assert sorted(mutant[first : last + 1]) == sorted(genome[first : last + 1])


def test_scramble_shuffles_a_segment_evenly() -> None:
    count = 6000
    population = np.tile(np.arange(5, dtype=np.int32), (count, 1))
    drawn = random_words(11, count, 7)
    drawn[:, :2] = words_for_pair(1, 3, 5)
    mutation_named("scramble").mutate(population, np.ones(count, dtype=np.bool_), drawn)
    seen = Counter(tuple(row[1:4]) for row in population.tolist())
    assert len(seen) == 6
    assert chisquare(list(seen.values())).pvalue > 0.001


@pytest.mark.parametrize("name", ["swap", "inversion", "insert"])
def test_every_pair_of_positions_is_drawn_equally_often(name: str) -> None:
    count, length = 15_000, 6
    population = np.tile(np.arange(length, dtype=np.int32), (count, 1))
    drawn = random_words(12, count, 2)
    mutation_named(name).mutate(population, np.ones(count, dtype=np.bool_), drawn)
    seen = Counter(tuple(row) for row in population.tolist())
    # Fifteen pairs; an insert behind its direct predecessor changes nothing, for five of them.
    if name == "insert":
        unchanged = seen.pop(tuple(range(length)))
        assert unchanged == pytest.approx(count * 5 / 15, rel=0.1)
        assert len(seen) == 10
    else:
        assert len(seen) == 15
    assert chisquare(list(seen.values())).pvalue > 0.001


def test_unknown_mutations_are_refused_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match="'flip' is not a mutation; use one of insert, inv"):
        mutation_named("flip")
