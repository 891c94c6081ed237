"""Edge crossover: the textbook's trace step by step, and the rules of every step in general."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tacit.search.crossover import edge, edge_both_ends
from tests.search.permutations import populations
from tests.search.words_for import genomes, printed, word_for, words

LATER = 2**31  # of two equally good neighbours the second in the list


def children_of(parents: NDArray[np.int32], drawn: NDArray[np.uint32]) -> NDArray[np.int32]:
    offspring = parents.copy()
    edge(parents, np.ones(len(parents) // 2, dtype=np.bool_), drawn, offspring)
    return offspring


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
    offspring = children_of(genomes("123456789", "937826514"), words(book + first_of_equals))
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
        assert children_of(parents, drawn)[0][:2].tolist() == [0, 1]


@given(populations(count=2, words_per_row=lambda length: 2 * length, rows_of_words=1))
def test_every_step_follows_the_rules(
    drawn: tuple[NDArray[np.int32], NDArray[np.uint32]],
) -> None:
    parents, drawn_words = drawn
    length = parents.shape[1]
    offspring = children_of(parents, drawn_words)
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
    offspring = children_of(parents, drawn)
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
    offspring = children_of(genomes(ring, backwards), words([123456789] * 16))
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
        near.discard(int(children_of(parents, drawn)[0][1]))
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
