"""The crowded comparison of NSGA-II (Deb et al. 2002): by front, then by crowding distance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.random_words import RandomWords, below


@kernel
def binary_tournament(
    front_of: NDArray[np.int32], crowding: NDArray[np.float64], words: RandomWords
) -> NDArray[np.int32]:
    """Hold one binary tournament per row of `words`; among equals the first drawn wins.

    >>> draws = np.array([[0, 2**32 - 1]], np.uint32)
    >>> binary_tournament(np.array([1, 0], np.int32), np.array([0.5, 0.1]), draws)
    array([1], dtype=int32)
    """
    winners = np.empty(words.shape[0], dtype=np.int32)
    for i in range(words.shape[0]):
        winner = below(words[i, 0], front_of.shape[0])
        rival = below(words[i, 1], front_of.shape[0])
        if front_of[rival] < front_of[winner] or (
            front_of[rival] == front_of[winner] and crowding[rival] > crowding[winner]
        ):
            winner = rival
        winners[i] = winner
    return winners


def crowded_truncation(
    front_of: NDArray[np.int32],
    crowding: NDArray[np.float64],
    survivors: int,
    order: NDArray[np.int32],
    /,
) -> NDArray[np.int32]:
    """The indices of the survivors, best first; ties go to those that come first in `order`.

    >>> order = np.array([2, 1, 0], np.int32)
    >>> crowded_truncation(np.array([1, 0, 0], np.int32), np.array([9.0, 0.5, 0.5]), 2, order)
    array([2, 1], dtype=int32)
    """
    return order[np.lexsort((-crowding[order], front_of[order]))[:survivors]]


@kernel
def crowding_distances(
    estimates: NDArray[np.float64], front_of: NDArray[np.int32], orders: NDArray[np.int32]
) -> NDArray[np.float64]:
    """The distance between the neighbours of each individual within its own front (section III.B).

    The ends of a front are infinitely far. Which of several equal individuals is at the end, or
    next to a better one, is decided by the order of the objective, a row of `orders`.

    >>> estimates, one_front = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]), np.zeros(3, np.int32)
    >>> crowding_distances(estimates, one_front, np.array([[0, 1, 2], [0, 1, 2]], np.int32))
    array([inf,  2., inf])
    """
    count, objectives = estimates.shape
    distances = np.zeros(count)
    newest = np.empty(count, dtype=np.int64)
    previous = np.empty(count, dtype=np.int64)
    lowest = np.empty(count)
    highest = np.empty(count)
    for objective in range(objectives):
        order = orders[objective]
        ascending = order[np.argsort(estimates[order, objective], kind="mergesort")]
        newest[:] = -1
        for k in range(count):
            i = ascending[k]
            front = front_of[i]
            if newest[front] < 0:
                lowest[front] = estimates[i, objective]
            previous[i] = newest[front]
            newest[front] = i
            highest[front] = estimates[i, objective]
        # `i` has its lower neighbour now; that one gets its upper neighbour.
        for k in range(count):
            i = ascending[k]
            lower = previous[i]
            if lower < 0:
                distances[i] = np.inf
                continue
            if previous[lower] >= 0:
                span = highest[front_of[i]] - lowest[front_of[i]]
                if span > 0:
                    gap = estimates[i, objective] - estimates[previous[lower], objective]
                    distances[lower] += gap / span
        for front in range(count):
            if newest[front] >= 0:
                distances[newest[front]] = np.inf
    return distances
