"""Non-dominated sorting into fronts.

For one objective or two by a sweep with binary search, O(n log n) (Jensen 2003); for more by the
efficient sort of Zhang et al. (2015), O(m n^2) at worst. Larger is better throughout, and equal
vectors do not dominate each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel


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
