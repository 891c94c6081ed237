"""Whether rows can all get an allowed column, by augmenting paths (Kuhn 1955)."""

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
