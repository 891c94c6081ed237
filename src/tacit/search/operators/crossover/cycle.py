"""Cycle crossover (Oliver, Smith and Holland 1987; Eiben and Smith 2015, section 4.5.1).

Positions fall into cycles: from a position of one parent go to where the item the other parent
has there stands in the first, until the start is reached. Children take the cycles alternately from
one parent and from the other, so every item stays at a position where a parent had it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import Words


@kernel
def cycle(
    parents: NDArray[np.int32],
    chosen: NDArray[np.bool_],
    words: Words,  # noqa: ARG001 - a cycle is a matter of the parents alone
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
