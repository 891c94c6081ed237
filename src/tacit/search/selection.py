"""Parents and survivors: tournaments and truncation, or NSGA-II's fronts and crowding."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel
from tacit.search.genomes import RandomWords, below

# Non-dominated sorting into fronts.
#
# For one objective or two by a sweep with binary search, O(n log n) (Jensen 2003); for more by the
# efficient sort of Zhang et al. (2015), O(m n^2) at worst. Larger is better throughout, and equal
# vectors do not dominate each other.


def nondominated_fronts(estimates: NDArray[np.float64], /) -> NDArray[np.int32]:
    """The front of each row, 0 for those that nobody dominates.

    >>> nondominated_fronts(np.array([[2.0, 2.0], [1.0, 3.0], [1.0, 1.0], [2.0, 2.0]]))
    array([0, 0, 1, 0], dtype=int32)
    """
    # Best first by the first objective, then the second and so on; nobody is dominated by one
    # that comes later.
    best_first = np.lexsort(tuple(-estimates.T[::-1]))
    if estimates.shape[1] == 1:
        return _sweep(np.repeat(estimates, 2, axis=1), best_first)
    if estimates.shape[1] == 2:
        return _sweep(estimates, best_first)
    return _sequential(estimates, best_first)


@kernel
def _sweep(estimates: NDArray[np.float64], best_first: NDArray[np.int64]) -> NDArray[np.int32]:
    count = best_first.shape[0]
    front_of = np.empty(count, dtype=np.int32)
    # Within a front the second objective never falls, so its newest member represents all.
    newest = np.empty(count, dtype=np.int64)
    fronts = 0
    for k in range(count):
        i = best_first[k]
        low, high = 0, fronts
        while low < high:
            middle = (low + high) // 2
            j = newest[middle]
            dominated = estimates[j, 1] > estimates[i, 1] or (
                estimates[j, 1] == estimates[i, 1] and estimates[j, 0] > estimates[i, 0]
            )
            if dominated:
                low = middle + 1
            else:
                high = middle
        newest[low] = i
        front_of[i] = low
        fronts = max(fronts, low + 1)
    return front_of


@kernel
def _sequential(estimates: NDArray[np.float64], best_first: NDArray[np.int64]) -> NDArray[np.int32]:
    count, objectives = estimates.shape
    front_of = np.empty(count, dtype=np.int32)
    # The members of each front, as chains from the newest on.
    newest = np.full(count, -1, dtype=np.int64)
    before = np.full(count, -1, dtype=np.int64)
    for k in range(count):
        i = best_first[k]
        front = 0
        searching = True
        while searching:
            searching = False
            j = newest[front]
            while j >= 0:
                better = worse = False
                for objective in range(objectives):
                    better |= estimates[j, objective] > estimates[i, objective]
                    worse |= estimates[j, objective] < estimates[i, objective]
                if better and not worse:
                    front += 1
                    searching = True
                    break
                j = before[j]
        before[i] = newest[front]
        newest[front] = i
        front_of[i] = front
    return front_of


# The crowded comparison of NSGA-II (Deb et al. 2002): by front, then by crowding distance.


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


# Tournaments choose parents (Eiben and Smith 2015, section 5.2.3), truncation survivors.


@kernel
def tournament(estimates: NDArray[np.float64], words: RandomWords) -> NDArray[np.int32]:
    """Hold one tournament per row of `words`, with one entrant, drawn with replacement, per word.

    The largest estimate wins; among equals the first drawn.

    >>> tournament(np.array([1.0, 3.0, 2.0]), np.array([[0, 2**32 - 1]], np.uint32))
    array([2], dtype=int32)
    """
    winners = np.empty(words.shape[0], dtype=np.int32)
    for i in range(words.shape[0]):
        winner = below(words[i, 0], estimates.shape[0])
        for entrant in range(1, words.shape[1]):
            candidate = below(words[i, entrant], estimates.shape[0])
            if estimates[candidate] > estimates[winner]:
                winner = candidate
        winners[i] = winner
    return winners


def truncation(
    estimates: NDArray[np.float64], survivors: int, order: NDArray[np.int32], /
) -> NDArray[np.int32]:
    """The indices of the best, best first; ties go to those that come first in `order`.

    >>> truncation(np.array([1.0, 3.0, 2.0, 3.0]), 3, np.array([3, 2, 1, 0], np.int32))
    array([3, 1, 2], dtype=int32)
    """
    return order[np.argsort(-estimates[order], kind="stable")[:survivors]]
