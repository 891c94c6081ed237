"""Whether rows can all get an allowed column, by augmenting paths (Kuhn 1955)."""

from __future__ import annotations

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
    row_of = np.full(columns, -1, dtype=np.int64)
    options = [np.flatnonzero(allowed[row]) for row in range(rows)]
    for row in range(rows):
        if not _augment(row, options, row_of):
            return None
    plan = np.empty(rows, dtype=np.int32)
    taken = np.flatnonzero(row_of >= 0)
    plan[row_of[taken]] = taken
    return plan


def _augment(start: int, options: list[NDArray[np.int64]], row_of: NDArray[np.int64]) -> bool:
    """Find a free column for `start`, moving others on: breadth first, since depth recurses."""
    came_from: dict[int, int] = {}
    frontier = [start]
    while frontier:
        row = frontier.pop(0)
        for column in map(int, options[row]):
            if column in came_from:
                continue
            came_from[column] = row
            if row_of[column] < 0:
                _shift_along(column, start, came_from, row_of)
                return True
            frontier.append(int(row_of[column]))
    return False


def _shift_along(
    free: int, start: int, came_from: dict[int, int], row_of: NDArray[np.int64]
) -> None:
    column_of = {int(row): column for column, row in enumerate(row_of) if row >= 0}
    column = free
    while True:
        row = came_from[column]
        row_of[column] = row
        if row == start:
            return
        column = column_of[row]
