"""The grown start over the integers: the specification of the one on shares, which gives it too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.sealed.grown.cells import AllowedCells, Indices

Costs = NDArray[np.int64]
_NOBODY = -1


def grown_in_the_clear(costs: Costs, cells: AllowedCells, known: Indices, /) -> Indices:
    """The column of each row, from rows x columns of costs and a plan that is known.

    >>> cells = AllowedCells(np.array([[True, True], [True, True]]), 9)
    >>> grown_in_the_clear(np.array([[3, 9], [1, 2]]), cells, np.array([1, 0]))
    array([0, 1])
    """
    large = np.iinfo(np.int64).max
    allowed = np.where(cells.allowed, costs, large)
    prices = np.minimum(allowed.min(axis=0), cells.spread)
    profits = np.where(cells.allowed, costs - prices, large).min(axis=1)
    reduced = np.where(cells.allowed, costs - prices - profits[:, None], large)
    column_of = np.full(cells.size, _NOBODY)
    for steps in cells.sweeps:
        column_of = _swept(reduced, cells, column_of, steps)
    rows = np.arange(cells.size)
    free = column_of == _NOBODY
    total = costs[rows[~free], column_of[~free]].sum() + cells.penalty * free.sum()
    return known.astype(np.intp) if costs[rows, known].sum() < total else column_of


def _swept(reduced: Costs, cells: AllowedCells, column_of: Indices, steps: int) -> Indices:
    size, far = cells.size, cells.far
    matched = column_of != _NOBODY
    distances, parent = np.full(size, far), np.full(size, _NOBODY)
    for _ in range(steps):
        of_rows = np.where(matched, distances[column_of], 0)
        ways = np.where(cells.allowed, of_rows[:, None] + np.minimum(reduced, far) + 1, 4 * far)
        parent, distances = ways.argmin(axis=0), ways.min(axis=0)
        parent[distances > far] = _NOBODY
        distances = np.minimum(distances, far)
    free = np.ones(size, dtype=bool)
    free[column_of[matched]] = False
    made, served = column_of.copy(), set()
    for column in np.flatnonzero(free & (parent != _NOBODY)):
        path = _path(int(column), parent, column_of)
        if len(path) <= cells.depth(steps) and path[-1][0] not in served:
            served.add(path[-1][0])
            for row, at in path:
                made[row] = at
    return made


def _path(column: int, parent: Indices, column_of: Indices) -> list[tuple[int, int]]:
    """Rows and the columns that they get, from a free column to a free row."""
    path = []
    while True:
        row = int(parent[column])
        path.append((row, column))
        if column_of[row] == _NOBODY:
            return path
        column = int(column_of[row])
