"""Adding up the weights that plans pick: the hot loops of the search, for Numba to compile.

Where it is not installed, `Problem.cell_sums` gives the same integers a few times slower.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel


@kernel
def assignment_loop(weights: NDArray[Any], plans: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sum weights[r, plan[r]] for each plan."""
    sums = np.empty(plans.shape[0], dtype=np.int64)
    for i in range(plans.shape[0]):
        total = np.int64(0)
        for row in range(plans.shape[1]):
            total += weights[row, plans[i, row]]
        sums[i] = total
    return sums


@kernel
def tour_loop(weights: NDArray[Any], tours: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sum weights[city, next city] around each closed tour."""
    sums = np.empty(tours.shape[0], dtype=np.int64)
    last = tours.shape[1] - 1
    for i in range(tours.shape[0]):
        total = np.int64(weights[tours[i, last], tours[i, 0]])
        for step in range(last):
            total += weights[tours[i, step], tours[i, step + 1]]
        sums[i] = total
    return sums
