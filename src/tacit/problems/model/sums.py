"""Adding up the weights that plans pick.

The hot loops of evaluation. Numba runs them where it is installed; NumPy alone gives the same
integers a few times slower, so that a node can do without Numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel, numba_is_here


def assignment_sums(
    weights: NDArray[Any], plans: NDArray[np.int32], /, *, accelerate: bool = True
) -> NDArray[np.int64]:
    """Sum weights[r, plan[r]] for each plan.

    >>> assignment_sums(np.array([[1, 9], [8, 3]]), np.array([[1, 0]], dtype=np.int32))
    array([17])
    """
    if accelerate and numba_is_here():
        return _assignment_loop(weights, plans)
    rows, columns = weights.shape
    starts = np.arange(rows, dtype=np.intp) * columns
    return np.asarray(weights.ravel().take(plans + starts).sum(axis=1))


def tour_sums(
    weights: NDArray[Any], tours: NDArray[np.int32], /, *, accelerate: bool = True
) -> NDArray[np.int64]:
    """Sum weights[city, next city] around each closed tour.

    >>> tour_sums(np.array([[0, 1], [4, 0]]), np.array([[0, 1]], dtype=np.int32))
    array([5])
    """
    if accelerate and numba_is_here():
        return _tour_loop(weights, tours)
    cities = weights.shape[1]
    legs = tours.astype(np.intp) * cities + np.roll(tours, -1, axis=1)
    return np.asarray(weights.ravel().take(legs).sum(axis=1))


@kernel
def _assignment_loop(weights: NDArray[Any], plans: NDArray[np.int32]) -> NDArray[np.int64]:
    sums = np.empty(plans.shape[0], dtype=np.int64)
    for i in range(plans.shape[0]):
        total = np.int64(0)
        for row in range(plans.shape[1]):
            total += weights[row, plans[i, row]]
        sums[i] = total
    return sums


@kernel
def _tour_loop(weights: NDArray[Any], tours: NDArray[np.int32]) -> NDArray[np.int64]:
    sums = np.empty(tours.shape[0], dtype=np.int64)
    last = tours.shape[1] - 1
    for i in range(tours.shape[0]):
        total = np.int64(weights[tours[i, last], tours[i, 0]])
        for step in range(last):
            total += weights[tours[i, step], tours[i, step + 1]]
        sums[i] = total
    return sums
