"""Edge crossover, "edge-3" (Whitley 2000; Eiben and Smith 2015, section 4.5.1).

A child is a path built along edges of its parents. From the current end it goes to an unvisited
neighbour: one that both parents have next to it if there is one, else the one with the fewest
unvisited neighbours left, ties at random. At a dead end it goes on with a random unvisited item.

The textbook first tries to extend the path at its other end, which is `edge-both-ends`. That finds
shorter tours under coarse disclosures than the paper reports; this variant gives the paper's
figures, so it has the name (docs/experiments.md sets the two side by side).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, below

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
            _path(neighbours, unvisited_neighbours, child_words, offspring[2 * pair + child])


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
