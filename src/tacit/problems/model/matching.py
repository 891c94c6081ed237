"""Assigning rows to columns without SciPy, by augmenting paths (Kuhn 1955)."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray


def feasible_assignment(allowed: NDArray[np.bool_], /) -> NDArray[np.int32] | None:
    """Find one assignment that uses allowed pairs only, or None if there is none.

    >>> feasible_assignment(np.array([[True, True], [True, False]]))
    array([1, 0], dtype=int32)
    >>> feasible_assignment(np.array([[True, False], [True, False]])) is None
    True
    """
    rows, columns = allowed.shape
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    options = [np.flatnonzero(allowed[row]) for row in range(rows)]
    for row in range(rows):
        if not _augment(row, options, row_of, column_of):
            return None
    return column_of.astype(np.int32)


def first_served(allowed: NDArray[np.bool_], /) -> NDArray[np.int32] | None:
    """Assign rows in the order of their first allowed column to the first one that is free.

    Where that leaves a row without a column, any assignment of allowed pairs; None without one.

    >>> first_served(np.array([[False, True, True], [True, True, False]]))
    array([1, 0], dtype=int32)
    >>> first_served(np.array([[True, True], [True, False]]))
    array([1, 0], dtype=int32)
    """
    rows, columns = allowed.shape
    free, column_of = np.ones(columns, dtype=bool), np.zeros(rows, dtype=np.int32)
    for row in np.argsort(allowed.argmax(axis=1), kind="stable"):
        options = free & allowed[row]
        column = int(options.argmax())
        if not options[column]:
            return feasible_assignment(allowed)
        free[column], column_of[row] = False, column
    return column_of


def least_assignment(costs: NDArray[np.float64], /) -> NDArray[np.int32] | None:
    """Find an assignment of least cost, by shortest augmenting paths (Crouse 2016).

    What SciPy does in compiled code; for a hundred rows this takes less time than its import.
    Infinite costs are forbidden pairs; None if every assignment has one.

    >>> least_assignment(np.array([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]]))
    array([1, 0, 2], dtype=int32)
    """
    rows, columns = costs.shape
    u, v = np.zeros(rows), np.zeros(columns)
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    for start in range(rows):
        distance, came_from = np.full(columns, np.inf), np.full(columns, -1)
        is_done = np.zeros(columns, dtype=bool)
        row, passed, length = start, [start], 0.0
        while True:
            through = length + costs[row] - u[row] - v
            is_shorter = ~is_done & (through < distance)
            distance[is_shorter], came_from[is_shorter] = through[is_shorter], row
            column = int(np.where(is_done, np.inf, distance).argmin())
            length = float(distance[column])
            if is_done[column] or length == np.inf:
                return None
            is_done[column] = True
            if row_of[column] < 0:
                break
            row = int(row_of[column])
            passed.append(row)
        u[start] += length
        moved = passed[1:]
        u[moved] += length - distance[column_of[moved]]
        v[is_done] -= length - distance[is_done]
        _shift_along(column, start, came_from, row_of, column_of)
    return column_of.astype(np.int32)


def _augment(
    start: int,
    options: list[NDArray[np.int64]],
    row_of: NDArray[np.int64],
    column_of: NDArray[np.int64],
) -> bool:
    """Find a free column for `start`, moving others on: breadth first, since depth recurses."""
    came_from = np.full(len(row_of), -1)
    frontier = deque([start])
    while frontier:
        row = frontier.popleft()
        reached = options[row][came_from[options[row]] < 0]
        came_from[reached] = row
        holders = row_of[reached]
        free = reached[holders < 0]
        if len(free):
            _shift_along(int(free[0]), start, came_from, row_of, column_of)
            return True
        frontier.extend(holders.tolist())
    return False


def _shift_along(
    column: int,
    start: int,
    came_from: NDArray[np.int64],
    row_of: NDArray[np.int64],
    column_of: NDArray[np.int64],
) -> None:
    while True:
        row = int(came_from[column])
        left, row_of[column], column_of[row] = int(column_of[row]), row, column
        if row == start:
            return
        column = left
