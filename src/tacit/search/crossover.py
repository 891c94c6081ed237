"""Recombination of two permutations, with the names of the operators.

An operator is a function of four arrays. `parents` holds one pair after the other, `chosen` says
which pairs recombine, `words` has a row of random words per pair, and `offspring` starts as a copy
of `parents` and is overwritten where a pair recombines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.jit import kernel
from tacit.search.genomes import RandomWords, below, segment

# Cycle crossover (Oliver, Smith and Holland 1987; Eiben and Smith 2015, section 4.5.1).
#
# Positions fall into cycles: from a position of one parent go to where the item the other parent
# has there stands in the first, until the start is reached. Children take the cycles alternately
# from one parent and from the other, so every item stays at a position where a parent had it.


@kernel
def cycle(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,  # noqa: ARG001 - a cycle is a matter of the parents alone
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs by exchanging every second cycle.

    >>> parents = np.array([[0, 1, 2, 3], [1, 0, 3, 2]], dtype=np.int32)
    >>> children = parents.copy()
    >>> cycle(parents, np.array([True]), np.zeros((1, 0), np.uint32), children)
    >>> children.tolist()
    [[0, 1, 3, 2], [1, 0, 2, 3]]
    """
    length = parents.shape[1]
    position_of = np.empty(length, dtype=np.int32)
    visited = np.empty(length, dtype=np.bool_)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        mother, father = parents[2 * pair], parents[2 * pair + 1]
        for position in range(length):
            position_of[mother[position]] = position
            visited[position] = False
        exchange = False
        for start in range(length):
            if visited[start]:
                continue
            position = start
            while not visited[position]:
                visited[position] = True
                if exchange:
                    offspring[2 * pair, position] = father[position]
                    offspring[2 * pair + 1, position] = mother[position]
                position = position_of[father[position]]
            exchange = not exchange


# Edge crossover, "edge-3" (Whitley 2000; Eiben and Smith 2015, section 4.5.1).
#
# A child is a path built along edges of its parents. From the current end it goes to an unvisited
# neighbour: one that both parents have next to it if there is one, else the one with the fewest
# unvisited neighbours left, ties at random. At a dead end it goes on with a random unvisited item.
#
# The textbook first tries to extend the path at its other end, which is `edge-both-ends`. That
# finds shorter tours under coarse disclosures than the paper reports; this variant gives the
# paper's figures, so it has the name (docs/experiments.md sets the two side by side).


SHARED = 1 << 30
"""Marks a neighbour that both parents have next to an item."""
ITEM = SHARED - 1
"""Takes the mark off."""
VISITED = 1 << 20
"""A count of unvisited neighbours that no unvisited item reaches."""
MOST_NEIGHBOURS = 4


@kernel
def edge(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs into two paths each, from different random starts.

    >>> parents = np.array([[0, 1, 2, 3], [1, 2, 3, 0]], dtype=np.int32)  # the same ring
    >>> children = parents.copy()
    >>> edge(parents, np.array([True]), np.zeros((1, 8), np.uint32), children)
    >>> children.tolist()
    [[0, 3, 2, 1], [0, 3, 2, 1]]
    """
    _recombine_edges(parents, chosen, words, offspring, False)


@kernel
def _recombine_edges(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
    from_both_ends: bool,
) -> None:
    length = parents.shape[1]
    if length < 3:
        return  # with so few items all tours are equal
    neighbours = np.empty((length, MOST_NEIGHBOURS), dtype=np.int32)
    # A sentinel item, visited from the start, stands for a missing neighbour.
    degree = np.empty(length + 1, dtype=np.int32)
    unvisited_neighbours = np.empty(length + 1, dtype=np.int32)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        edge_table(parents[2 * pair], parents[2 * pair + 1], neighbours, degree)
        for child in range(2):
            unvisited_neighbours[:] = degree
            child_words = words[pair, child * length : (child + 1) * length]
            path = offspring[2 * pair + child]
            if from_both_ends:
                _path_from_both_ends(neighbours, unvisited_neighbours, child_words, path)
            else:
                _path(neighbours, unvisited_neighbours, child_words, path)


@kernel
def edge_table(
    mother: NDArray[np.int32],
    father: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    degree: NDArray[np.int32],
) -> None:
    """List the distinct neighbours of each item: two of the mother's, up to two of the father's."""
    length = mother.shape[0]
    before, item = mother[length - 1], mother[0]
    for position in range(length):
        after = mother[position + 1] if position + 1 < length else mother[0]
        neighbours[item, 0] = before
        neighbours[item, 1] = after
        before, item = item, after
    before, item = father[length - 1], father[0]
    for position in range(length):
        after = father[position + 1] if position + 1 < length else father[0]
        count = 2
        for side in range(2):
            other = before if side == 0 else after
            if neighbours[item, 0] == other:
                neighbours[item, 0] |= SHARED
                other = length
            elif neighbours[item, 1] == other:
                neighbours[item, 1] |= SHARED
                other = length
            else:
                count += 1
            neighbours[item, 2 + side] = other
        degree[item] = count
        before, item = item, after
    degree[length] = VISITED


@kernel
def _path(
    neighbours: NDArray[np.int32],
    unvisited_neighbours: NDArray[np.int32],
    words: RandomWords,
    path: NDArray[np.int32],
) -> None:
    """Write a path through all items into `path`.

    Written out for four neighbours and without branches, since where a path goes is exactly what
    a processor cannot predict.
    """
    length = path.shape[0]
    item = below(words[0], length)
    for step in range(length):
        path[step] = item
        unvisited_neighbours[item] = VISITED
        if step + 1 == length:
            break
        a, b = neighbours[item, 0] & ITEM, neighbours[item, 1] & ITEM
        c, d = neighbours[item, 2], neighbours[item, 3]
        unvisited_neighbours[a] -= 1
        unvisited_neighbours[b] -= 1
        unvisited_neighbours[c] -= 1
        unvisited_neighbours[d] -= 1
        # A shared edge goes before any other, hence the head start of 8.
        left_a = unvisited_neighbours[a] - ((neighbours[item, 0] >> 30) << 3)
        left_b = unvisited_neighbours[b] - ((neighbours[item, 1] >> 30) << 3)
        left_c = unvisited_neighbours[c]
        left_d = unvisited_neighbours[d]
        fewest = min(min(left_a, left_b), min(left_c, left_d))
        word = words[step + 1]
        if fewest > MOST_NEIGHBOURS:
            item = unvisited_item(unvisited_neighbours, below(word, length - step - 1))
            continue
        ties_a = 1 if left_a == fewest else 0
        ties_b = ties_a + (1 if left_b == fewest else 0)
        ties_c = ties_b + (1 if left_c == fewest else 0)
        ties_d = ties_c + (1 if left_d == fewest else 0)
        wanted = below(word, ties_d)
        item = d
        if wanted < ties_c:
            item = c
        if wanted < ties_b:
            item = b
        if wanted < ties_a:
            item = a


@kernel
def unvisited_item(unvisited_neighbours: NDArray[np.int32], wanted: int) -> int:
    """The item that has `wanted` unvisited ones before it."""
    item = 0
    while wanted > 0 or unvisited_neighbours[item] > MOST_NEIGHBOURS:
        if unvisited_neighbours[item] <= MOST_NEIGHBOURS:
            wanted -= 1
        item += 1
    return item


# Edge crossover that leaves dead ends by the other end (Eiben and Smith 2015, section 4.5.1).
#
# As `edge`, except at a dead end: the path is turned round and goes on from where it began. Only
# when both ends are dead does it go on with a random unvisited item. This is the textbook's rule;
# docs/experiments.md compares the two with the paper's figures.


@kernel
def edge_both_ends(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs into two paths each, from different random starts.

    >>> parents = np.array([[0, 1, 2, 3], [1, 2, 3, 0]], dtype=np.int32)  # the same ring
    >>> children = parents.copy()
    >>> edge_both_ends(parents, np.array([True]), np.zeros((1, 8), np.uint32), children)
    >>> children.tolist()
    [[0, 3, 2, 1], [0, 3, 2, 1]]
    """
    _recombine_edges(parents, chosen, words, offspring, True)


@kernel
def _path_from_both_ends(
    neighbours: NDArray[np.int32],
    unvisited_neighbours: NDArray[np.int32],
    words: RandomWords,
    path: NDArray[np.int32],
) -> None:
    length = path.shape[0]
    item = below(words[0], length)
    for step in range(length):
        path[step] = item
        unvisited_neighbours[item] = VISITED
        for side in range(MOST_NEIGHBOURS):
            unvisited_neighbours[neighbours[item, side] & ITEM] -= 1
        if step + 1 == length:
            break
        word = words[step + 1]
        item = _next_item(neighbours, unvisited_neighbours, path[step], word)
        if item < 0:
            path[: step + 1] = path[: step + 1][::-1].copy()
            item = _next_item(neighbours, unvisited_neighbours, path[step], word)
        if item < 0:
            item = unvisited_item(unvisited_neighbours, below(word, length - step - 1))


@kernel
def _next_item(
    neighbours: NDArray[np.int32],
    unvisited_neighbours: NDArray[np.int32],
    item: int,
    word: np.uint32,
) -> int:
    """The neighbour to go to from an item, or -1 at a dead end."""
    fewest, ties = MOST_NEIGHBOURS + 1, 0
    for side in range(MOST_NEIGHBOURS):
        left = _standing(neighbours, unvisited_neighbours, item, side)
        if left < fewest:
            fewest, ties = left, 1
        elif left == fewest:
            ties += 1
    if ties == 0:
        return -1
    wanted = below(word, ties)
    for side in range(MOST_NEIGHBOURS):
        if _standing(neighbours, unvisited_neighbours, item, side) == fewest:
            if wanted == 0:
                return int(neighbours[item, side] & ITEM)
            wanted -= 1
    return -1


@kernel
def _standing(
    neighbours: NDArray[np.int32], unvisited_neighbours: NDArray[np.int32], item: int, side: int
) -> int:
    """How many unvisited neighbours a neighbour has left; a shared edge goes before any other."""
    other = neighbours[item, side]
    return int(unvisited_neighbours[other & ITEM] - ((other >> 30) << 3))


# Order crossover (Davis 1985; Eiben and Smith 2015, section 4.5.1).
#
# A child keeps a segment of one parent in place. From the end of the segment on, around the end of
# the genome, it takes what is missing in the order in which the other parent has it.


@kernel
def order(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs around a random segment.

    >>> parents = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.int32)
    >>> children = parents.copy()
    >>> words = np.array([[2**30, 2**31]], np.uint32)  # the segment is positions 1 to 2
    >>> order(parents, np.array([True]), words, children)
    >>> children.tolist()
    [[3, 1, 2, 0], [0, 2, 1, 3]]
    """
    length = parents.shape[1]
    is_missing = np.empty(length, dtype=np.int32)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        first, last = segment(words[pair, 0], words[pair, 1], length)
        for child in range(2):
            keeper = parents[2 * pair + child]
            filler = parents[2 * pair + 1 - child]
            filled = offspring[2 * pair + child]
            is_missing[:] = 1
            for position in range(first, last + 1):
                is_missing[keeper[position]] = 0
            target = source = last + 1
            for _ in range(length):
                if source >= length:
                    source -= length
                if target >= length:
                    target -= length
                # Written without a branch, since a processor cannot predict which items the
                # segment has: the next item overwrites one that the child already has.
                item = filler[source]
                filled[target] = item
                target += is_missing[item]
                source += 1
            # What follows the last missing item was written over the start of the segment.
            filled[first] = keeper[first]


# Partially mapped crossover (Goldberg and Lingle 1985; Eiben and Smith 2015, section 4.5.1).
#
# A child keeps a segment of one parent. An item of the other parent that the segment pushed out
# goes to where the other parent has the item that took its place, or on from there if that is
# inside the segment too. Everything else comes from the other parent as it stands.


@kernel
def partially_mapped(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs around a random segment.

    >>> parents = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.int32)
    >>> children = parents.copy()
    >>> words = np.array([[0, 2**30]], np.uint32)  # the segment is positions 0 to 1
    >>> partially_mapped(parents, np.array([True]), words, children)
    >>> children.tolist()
    [[0, 1, 2, 3], [3, 2, 1, 0]]
    """
    length = parents.shape[1]
    mapped_to = np.empty(length, dtype=np.int32)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        first, last = segment(words[pair, 0], words[pair, 1], length)
        for child in range(2):
            keeper = parents[2 * pair + child]
            filler = parents[2 * pair + 1 - child]
            mapped_to[:] = -1
            for position in range(first, last + 1):
                mapped_to[keeper[position]] = filler[position]
            for position in range(length):
                if first <= position <= last:
                    continue
                # Following the mapping backwards from an item that the segment already has
                # ends at the item that was pushed out to this position.
                item = filler[position]
                while mapped_to[item] >= 0:
                    item = mapped_to[item]
                offspring[2 * pair + child, position] = item


# Uniform order-based crossover (Syswerda 1991; Kruse et al. 2022, chapter 12).
#
# Every position is kept with probability one half. What is missing fills the gaps in the order in
# which the other parent has it.


HALF = 2**31


@kernel
def uniform_order_based(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: RandomWords,
    offspring: NDArray[np.int32],
) -> None:
    """Recombine pairs with a random mask that both children share.

    >>> parents = np.array([[0, 1, 2, 3], [3, 2, 1, 0]], dtype=np.int32)
    >>> children = parents.copy()
    >>> words = np.array([[0, 2**31, 2**31, 0]], np.uint32)  # keep the outer positions
    >>> uniform_order_based(parents, np.array([True]), words, children)
    >>> children.tolist()
    [[0, 2, 1, 3], [3, 1, 2, 0]]
    """
    length = parents.shape[1]
    kept = np.empty(length, dtype=np.bool_)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        for child in range(2):
            keeper = parents[2 * pair + child]
            filler = parents[2 * pair + 1 - child]
            for position in range(length):
                kept[keeper[position]] = words[pair, position] < HALF
            source = 0
            for position in range(length):
                if words[pair, position] < HALF:
                    continue
                while kept[filler[source]]:
                    source += 1
                offspring[2 * pair + child, position] = filler[source]
                source += 1


Recombine = Callable[[NDArray[np.int32], NDArray[np.bool_], RandomWords, NDArray[np.int32]], None]


@dataclass(frozen=True)
class Crossover:
    """A named operator and how many random words one pair needs, given the genome's length."""

    name: str
    recombine: Recombine
    words_per_pair: Callable[[int], int]


_registered: dict[str, Crossover] = {}
# The only state here: operators that code of this process has registered.


def register_crossover(crossover: Crossover, /) -> None:
    """Register a custom operator for `crossover_named`; registering it again replaces it.

    >>> register_crossover(crossovers()["cycle"])
    Traceback (most recent call last):
    tacit.errors.ParameterError: 'cycle' is a crossover of the package; choose another name
    """
    if crossover.name in crossovers():
        raise ParameterError(
            f"{crossover.name!r} is a crossover of the package; choose another name"
        )
    _registered[crossover.name] = crossover


def crossovers() -> dict[str, Crossover]:
    """All crossovers of the package by name.

    >>> sorted(crossovers())
    ['cycle', 'edge', 'edge-both-ends', 'order', 'partially-mapped', 'uniform-order-based']
    """
    known = (
        Crossover("cycle", cycle, lambda length: 0),
        Crossover("edge", edge, lambda length: 2 * length),
        Crossover("edge-both-ends", edge_both_ends, lambda length: 2 * length),
        Crossover("order", order, lambda length: 2),
        Crossover("partially-mapped", partially_mapped, lambda length: 2),
        Crossover("uniform-order-based", uniform_order_based, lambda length: length),
    )
    return {crossover.name: crossover for crossover in known}


def crossover_named(name: str, /) -> Crossover:
    known = crossovers() | _registered
    if name not in known:
        raise ParameterError(f"{name!r} is not a crossover; use one of {', '.join(known)}")
    return known[name]
