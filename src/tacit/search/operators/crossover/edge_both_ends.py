"""Edge crossover that leaves dead ends by the other end (Eiben and Smith 2015, section 4.5.1).

As `edge`, except at a dead end: the path is turned round and goes on from where it began. Only
when both ends are dead does it go on with a random unvisited item. This is the textbook's rule;
docs/experiments.md compares the two with the paper's figures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.operators.crossover.edge import (
    ITEM,
    MOST_NEIGHBOURS,
    VISITED,
    edge_table,
    unvisited_item,
)
from tacit.search.random_words import RandomWords, below


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
    length = parents.shape[1]
    if length < 3:
        return  # with so few items all tours are equal
    neighbours = np.empty((length, MOST_NEIGHBOURS), dtype=np.int32)
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
def _path(
    neighbours: NDArray[np.int32],
    unvisited_neighbours: NDArray[np.int32],
    words: RandomWords,
    path: NDArray[np.int32],
) -> None:
    """Write a path through all items into `path`."""
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
