"""Crossovers by worked examples, and what all of them promise."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.search.crossover import crossover_named, crossovers, edge_both_ends
from tests.search.words_for import genomes, populations, printed, random_words, word_for, words

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


LATER = 2**31  # of two equally good neighbours the second in the list


def test_the_textbooks_trace() -> None:
    """Eiben and Smith (2015), section 4.5.1, with the random choices made as the book makes them.

    Starts at 1; of 2, 5, 4 and 9 the list of 5 is shortest; 6 is a common edge; 2 and 7 have two
    each and 2 is drawn; 8 has the shorter list; 7 is a common edge; 3 is the only one left; of 4
    and 9 the latter is drawn; 4 is last: 156287394.
    """
    start = word_for(0, 9)
    # The second of 7, 2 after three items, and the second of 4, 9 after seven.
    book = [start, 0, 0, LATER, 0, 0, 0, LATER, 0]
    first_of_equals = [start] + [0] * 8
    offspring = children_of(
        "edge", genomes("123456789", "937826514"), words(book + first_of_equals)
    )
    assert printed(offspring[0]) == "156287394"
    # The same start with the first of equals each time: 7 instead of 2 after 1 5 6, then its
    # common edge 8, then 2 (only 3 left) before 9 (3 and 4 left), and 3 4 9 along the rest.
    assert printed(offspring[1]) == "156782349"


def test_a_common_edge_comes_before_a_shorter_list() -> None:
    # 0's neighbours: 1 and 5 in the first parent, 1 and 3 in the second, so 0-1 is common. The
    # list of 1 (0, 2, 4 and so 2 left) is as long as any, and still it goes there.
    parents = genomes([0, 1, 2, 3, 4, 5], [1, 0, 3, 5, 2, 4])
    for word in (0, LATER, 2**32 - 1):
        drawn = words([word_for(0, 6), word, 0, 0, 0, 0] * 2)
        assert children_of("edge", parents, drawn)[0][:2].tolist() == [0, 1]


@given(populations(count=2, words_per_row=lambda length: 2 * length, rows_of_words=1))
def test_every_step_follows_the_rules(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    parents, drawn_words = drawn
    length = parents.shape[1]
    offspring = children_of("edge", parents, drawn_words)
    for child in range(2):
        path = offspring[child].tolist()
        if length < 3:
            assert path == parents[child].tolist(), "all rings of so few items are the same"
            continue
        child_words = drawn_words[0, child * length : (child + 1) * length]
        assert path[0] == int(child_words[0]) * length >> 32
        check_every_step(parents, path, child_words)


@given(st.integers(0, 2**32 - 1))
def test_dead_ends_do_happen_and_are_left_by_the_word(seed: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    parents = np.array([rng.permutation(40) for _ in range(20)], dtype=np.int32)
    drawn = rng.integers(0, 2**32, size=(10, 80), dtype=np.uint32)
    offspring = children_of("edge", parents, drawn)
    dead_ends = 0
    for pair in range(10):
        for child in range(2):
            dead_ends += check_every_step(
                parents[2 * pair : 2 * pair + 2],
                offspring[2 * pair + child].tolist(),
                drawn[pair, 40 * child : 40 * (child + 1)],
            )
    assert dead_ends > 0


def check_every_step(
    parents: NDArray[np.int32], path: list[int], drawn: NDArray[np.uint32]
) -> bool:
    """Follow a child with edge lists written as sets; says whether it met a dead end."""
    rings = [neighbours_in_ring(parent.tolist()) for parent in parents]
    either = {item: rings[0][item] | rings[1][item] for item in rings[0]}
    both = {item: rings[0][item] & rings[1][item] for item in rings[0]}
    unvisited = set(path)
    dead_end = False
    for step, (item, following) in enumerate(pairwise(path), start=1):
        unvisited.discard(item)
        common, near = both[item] & unvisited, either[item] & unvisited
        if common:
            assert following in common, "a common edge comes first"
        elif near:
            lists = {other: len(either[other] & unvisited) for other in near}
            shortest = {other for other in near if lists[other] == min(lists.values())}
            assert following in shortest, "then the shortest list"
        else:
            dead_end = True
            left = sorted(unvisited)
            assert following == left[int(drawn[step]) * len(left) >> 32]
    return dead_end


def neighbours_in_ring(parent: list[int]) -> dict[int, set[int]]:
    length = len(parent)
    return {
        item: {parent[i - 1], parent[(i + 1) % length]} - {item} for i, item in enumerate(parent)
    }


def test_equal_rings_give_the_same_ring() -> None:
    ring = [4, 1, 7, 0, 3, 6, 2, 5]
    turned = ring[3:] + ring[:3]
    backwards = turned[::-1]
    offspring = children_of("edge", genomes(ring, backwards), words([123456789] * 16))
    for child in offspring:
        assert neighbours_in_ring(child.tolist()) == neighbours_in_ring(ring)


def test_ties_are_broken_evenly() -> None:
    # 0 has four neighbours of equal standing in these rings.
    parents = genomes([0, 1, 2, 3, 4, 5, 6, 7, 8], [0, 2, 4, 6, 8, 1, 3, 5, 7])
    rings = [neighbours_in_ring(parent.tolist()) for parent in parents]
    near = rings[0][0] | rings[1][0]
    assert len(near) == 4
    for rank in range(4):
        drawn = words([0, word_for(rank, 4), 0, 0, 0, 0, 0, 0, 0] * 2)
        near.discard(int(children_of("edge", parents, drawn)[0][1]))
    assert not near, "each of the four is reached by its own quarter of the words"


@given(st.integers(0, 2**32 - 1), st.integers(3, 40))
def test_the_textbooks_variant_leaves_dead_ends_by_the_other_end(seed: int, length: int) -> None:
    rng = np.random.Generator(np.random.PCG64(seed))
    parents = np.array([rng.permutation(length) for _ in range(2)], dtype=np.int32)
    drawn = rng.integers(0, 2**32, size=(1, 2 * length), dtype=np.uint32)
    offspring = parents.copy()
    edge_both_ends(parents, np.ones(1, dtype=np.bool_), drawn, offspring)
    for child in range(2):
        child_words = drawn[0, length * child : length * (child + 1)]
        expected = path_by_both_ends(parents, child_words.tolist())
        assert offspring[child].tolist() == expected


def path_by_both_ends(parents: NDArray[np.int32], drawn: list[int]) -> list[int]:
    """The textbook's rules on lists of neighbours, mother's first."""
    length = parents.shape[1]
    listed: dict[int, list[int]] = {item: [] for item in range(length)}
    for parent in parents.tolist():
        for i, item in enumerate(parent):
            listed[item] += [parent[i - 1], parent[(i + 1) % length]]
    path = [drawn[0] * length >> 32]
    for word in drawn[1:]:
        left = [n for n in dict.fromkeys(listed[path[-1]]) if n not in path]
        if not left:
            path.reverse()
            left = [n for n in dict.fromkeys(listed[path[-1]]) if n not in path]
        if not left:
            left = sorted(set(range(length)) - set(path))
            path.append(left[word * len(left) >> 32])
            continue
        common = [n for n in left if listed[path[-1]].count(n) == 2]
        sizes = {n: len({m for m in listed[n] if m not in path}) for n in common or left}
        best = [n for n in common or left if sizes[n] == min(sizes.values())]
        path.append(best[word * len(best) >> 32])
    return path
