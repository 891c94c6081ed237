"""Crossovers against the worked examples of Eiben and Smith (2015, section 4.5.1) and in general.

The textbook's parents are 123456789 and 937826514; its segment is 4567, the positions 4 to 7.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.search.crossover import crossover_named, crossovers
from tests.search.permutations import populations
from tests.search.words_for import genomes, printed, random_words, word_for, words

MOTHER, FATHER = "123456789", "937826514"
SEGMENT = words([word_for(3, 9), word_for(6, 9)])
NAMES = sorted(crossovers())


def children_of(
    name: str, parents: NDArray[np.int32], drawn: NDArray[np.uint32]
) -> NDArray[np.int32]:
    offspring = parents.copy()
    chosen = np.ones(len(parents) // 2, dtype=np.bool_)
    crossover_named(name).recombine(parents, chosen, drawn, offspring)
    return offspring


@pytest.mark.parametrize(
    ("name", "children"),
    [
        ("order", ["382456719", "347826591"]),
        ("partially-mapped", ["932456718", "173826549"]),
        ("cycle", ["137426589", "923856714"]),
    ],
)
def test_the_textbooks_children(name: str, children: list[str]) -> None:
    drawn = SEGMENT if name != "cycle" else np.empty((1, 0), dtype=np.uint32)
    offspring = children_of(name, genomes(MOTHER, FATHER), drawn)
    assert [printed(child) for child in offspring] == children


@pytest.mark.parametrize("name", ["order", "partially-mapped"])
def test_the_ends_of_a_segment_may_be_drawn_in_any_order(name: str) -> None:
    parents = genomes(MOTHER, FATHER)
    forwards, backwards = SEGMENT, SEGMENT[:, ::-1].copy()
    assert (children_of(name, parents, forwards) == children_of(name, parents, backwards)).all()


@pytest.mark.parametrize("name", ["order", "partially-mapped"])
def test_a_segment_of_the_whole_genome_copies_the_parents(name: str) -> None:
    parents = genomes(MOTHER, FATHER)
    assert (children_of(name, parents, words([0, 2**32 - 1])) == parents).all()


def test_uniform_order_based_by_hand() -> None:
    # Kept: positions 2, 3, 5 and 9 of each parent.
    mask = [2**31, 0, 0, 2**31, 0, 2**31, 2**31, 2**31, 0]
    offspring = children_of("uniform-order-based", genomes(MOTHER, FATHER), words(mask))
    # _23_5___9 takes 7 8 6 1 4 from the other; _37_2___4 takes 1 5 6 8 9.
    assert [printed(child) for child in offspring] == ["723856149", "137526894"]


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_permutations_in_permutations_out(name: str, data: st.DataObject) -> None:
    crossover = crossover_named(name)
    parents, drawn = data.draw(
        populations(count=4, words_per_row=crossover.words_per_pair, rows_of_words=2)
    )
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=2, max_size=2)))
    before, offspring = parents.copy(), parents.copy()
    crossover.recombine(parents, chosen, drawn, offspring)
    assert (parents == before).all(), "parents stay as they are"
    expected = np.arange(parents.shape[1])
    for child in offspring:
        assert (np.sort(child) == expected).all()
    for pair in range(2):
        if not chosen[pair]:
            rows = slice(2 * pair, 2 * pair + 2)
            assert (offspring[rows] == parents[rows]).all(), "a pair that is not chosen stays"


@pytest.mark.parametrize("name", NAMES)
def test_pairs_do_not_influence_each_other(name: str) -> None:
    crossover = crossover_named(name)
    rng = np.random.Generator(np.random.PCG64(5))
    parents = np.array([rng.permutation(11) for _ in range(8)], dtype=np.int32)
    drawn = random_words(9, 4, crossover.words_per_pair(11))
    together = children_of(name, parents, drawn)
    for pair in range(4):
        rows = slice(2 * pair, 2 * pair + 2)
        alone = children_of(name, parents[rows].copy(), drawn[pair : pair + 1])
        assert (together[rows] == alone).all()


@pytest.mark.parametrize("name", ["cycle", "order", "partially-mapped", "uniform-order-based"])
@given(data=st.data())
def test_equal_parents_have_equal_children(name: str, data: st.DataObject) -> None:
    crossover = crossover_named(name)
    parents, drawn = data.draw(
        populations(count=1, words_per_row=crossover.words_per_pair, rows_of_words=1)
    )
    twins = np.concatenate([parents, parents])
    assert (children_of(name, twins, drawn) == twins).all()


@given(populations(count=2, words_per_row=lambda length: 0, rows_of_words=1))
def test_cycle_takes_every_position_from_one_parent_and_the_rest_for_the_other_child(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    parents = drawn[0]
    offspring = children_of("cycle", *drawn)
    from_mother = offspring[0] == parents[0]
    assert (offspring[0] == np.where(from_mother, parents[0], parents[1])).all()
    assert (offspring[1] == np.where(from_mother, parents[1], parents[0])).all()


@given(populations(count=2, words_per_row=lambda length: 0, rows_of_words=1))
def test_cycle_alternates_between_cycles_found_by_brute_force(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    mother, father = (parent.tolist() for parent in drawn[0])
    number = [-1] * len(mother)
    cycles = 0
    for start in range(len(mother)):
        if number[start] < 0:
            position = start
            while number[position] < 0:
                number[position] = cycles
                position = mother.index(father[position])
            cycles += 1
    expected = [m if c % 2 == 0 else f for m, f, c in zip(mother, father, number, strict=True)]
    assert children_of("cycle", *drawn)[0].tolist() == expected


@given(populations(count=2, words_per_row=lambda length: 2, rows_of_words=1))
def test_order_is_the_segment_and_then_the_other_parent_in_turn(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    parents, drawn_words = drawn
    length = parents.shape[1]
    first, last = sorted(int(word) * length >> 32 for word in drawn_words[0])
    offspring = children_of("order", *drawn)
    for child in range(2):
        keeper, filler = parents[child].tolist(), parents[1 - child].tolist()
        kept = keeper[first : last + 1]
        around = filler[last + 1 :] + filler[: last + 1]
        missing = [item for item in around if item not in kept]
        tail = length - last - 1
        assert offspring[child].tolist() == missing[tail:] + kept + missing[:tail]


@given(populations(count=2, words_per_row=lambda length: 2, rows_of_words=1))
def test_partially_mapped_places_what_the_segment_pushed_out(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    """The textbook's steps, which place pushed-out items one by one."""
    parents, drawn_words = drawn
    length = parents.shape[1]
    first, last = sorted(int(word) * length >> 32 for word in drawn_words[0])
    offspring = children_of("partially-mapped", *drawn)
    for child in range(2):
        keeper, filler = parents[child].tolist(), parents[1 - child].tolist()
        expected = [-1] * length
        expected[first : last + 1] = keeper[first : last + 1]
        for position in range(first, last + 1):
            item = filler[position]
            if item in keeper[first : last + 1]:
                continue
            place = position
            while expected[place] >= 0:
                place = filler.index(keeper[place])
            expected[place] = item
        expected = [filler[i] if item < 0 else item for i, item in enumerate(expected)]
        assert offspring[child].tolist() == expected


@given(populations(count=2, words_per_row=lambda length: length, rows_of_words=1))
def test_uniform_order_based_fills_gaps_in_the_other_parents_order(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    parents, drawn_words = drawn
    keep = [word < 2**31 for word in drawn_words[0].tolist()]
    offspring = children_of("uniform-order-based", *drawn)
    for child in range(2):
        keeper, filler = parents[child].tolist(), parents[1 - child].tolist()
        kept = {item for item, is_kept in zip(keeper, keep, strict=True) if is_kept}
        missing = iter([item for item in filler if item not in kept])
        expected = [
            i if is_kept else next(missing) for i, is_kept in zip(keeper, keep, strict=True)
        ]
        assert offspring[child].tolist() == expected


def test_unknown_crossovers_are_refused_with_those_there_are() -> None:
    with pytest.raises(ParameterError, match="'pmx' is not a crossover; use one of cycle, edge"):
        crossover_named("pmx")
