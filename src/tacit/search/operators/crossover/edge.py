"""Edge crossover, "edge-3" (Whitley 2000; Eiben and Smith 2015, section 4.5.1).

A child is a path built along edges of its parents. From the current end it goes to an unvisited
neighbour: one that both parents have next to it if there is one, else the one with the fewest
unvisited neighbours left, ties at random. At a dead end it goes on with a random unvisited item.

The textbook first tries to extend the path at its other end. That finds shorter tours under coarse
disclosures (kroD100, top:60, generation 500: about 27,700 where this gives 30,600), but this is
what the paper's figures show (31,318), so it is what carries the name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import Words, below


@kernel
def edge(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: Words,
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
    neighbours = np.empty((length, 4), dtype=np.int32)
    degree = np.empty(length, dtype=np.int32)
    shared = np.empty(length, dtype=np.int32)
    unvisited_neighbours = np.empty(length, dtype=np.int32)
    visited = np.empty(length, dtype=np.bool_)
    for pair in range(chosen.shape[0]):
        if not chosen[pair]:
            continue
        _edge_table(parents[2 * pair], parents[2 * pair + 1], neighbours, degree, shared)
        for child in range(2):
            unvisited_neighbours[:] = degree
            visited[:] = False
            child_words = words[pair, child * length : (child + 1) * length]
            path = offspring[2 * pair + child]
            _path(neighbours, degree, shared, unvisited_neighbours, visited, child_words, path)


@kernel
def _edge_table(
    mother: NDArray[np.int32],
    father: NDArray[np.int32],
    neighbours: NDArray[np.int32],
    degree: NDArray[np.int32],
    shared: NDArray[np.int32],
) -> None:
    """List the distinct neighbours of each item, those that both parents have first."""
    length = mother.shape[0]
    for position in range(length):
        item = mother[position]
        neighbours[item, 0] = mother[position - 1]
        neighbours[item, 1] = mother[position + 1 if position + 1 < length else 0]
        # Rings of one or two items have fewer than two distinct neighbours.
        degree[item] = 2 if length > 2 else length - 1
        shared[item] = 0
    for position in range(length):
        item = father[position]
        for side in range(2):
            other = father[position - 1]
            if side == 1:
                other = father[position + 1 if position + 1 < length else 0]
            known = -1
            for slot in range(degree[item]):
                if neighbours[item, slot] == other:
                    known = slot
            if known < 0:
                if other != item:
                    neighbours[item, degree[item]] = other
                    degree[item] += 1
            elif known >= shared[item]:
                first = shared[item]
                neighbours[item, known] = neighbours[item, first]
                neighbours[item, first] = other
                shared[item] += 1


@kernel
def _path(
    neighbours: NDArray[np.int32],
    degree: NDArray[np.int32],
    shared: NDArray[np.int32],
    unvisited_neighbours: NDArray[np.int32],
    visited: NDArray[np.bool_],
    words: Words,
    path: NDArray[np.int32],
) -> None:
    """Write a path through all items into `path`."""
    length = degree.shape[0]
    item = below(words[0], length)
    for step in range(length):
        path[step] = item
        visited[item] = True
        for slot in range(degree[item]):
            unvisited_neighbours[neighbours[item, slot]] -= 1
        if step + 1 == length:
            break
        word = words[step + 1]
        item = _next_item(item, neighbours, degree, shared, unvisited_neighbours, visited, word)
        if item < 0:
            item = _unvisited_item(visited, below(word, length - step - 1))


@kernel
def _next_item(
    item: int,
    neighbours: NDArray[np.int32],
    degree: NDArray[np.int32],
    shared: NDArray[np.int32],
    unvisited_neighbours: NDArray[np.int32],
    visited: NDArray[np.bool_],
    word: np.uint32,
) -> int:
    """The neighbour to go to, or -1 at a dead end."""
    for slot in range(shared[item]):
        if not visited[neighbours[item, slot]]:
            return int(neighbours[item, slot])
    fewest, ties = 5, 0
    for slot in range(shared[item], degree[item]):
        candidate = neighbours[item, slot]
        if visited[candidate]:
            continue
        left = unvisited_neighbours[candidate]
        if left < fewest:
            fewest, ties = left, 1
        elif left == fewest:
            ties += 1
    if ties == 0:
        return -1
    wanted = below(word, ties)
    for slot in range(shared[item], degree[item]):
        candidate = neighbours[item, slot]
        if not visited[candidate] and unvisited_neighbours[candidate] == fewest:
            if wanted == 0:
                return int(candidate)
            wanted -= 1
    return -1


@kernel
def _unvisited_item(visited: NDArray[np.bool_], wanted: int) -> int:
    """The item that has `wanted` unvisited ones before it."""
    for item in range(visited.shape[0]):
        if not visited[item]:
            if wanted == 0:
                return item
            wanted -= 1
    return -1
