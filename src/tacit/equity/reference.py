"""The plan that savings are counted from, and plans as the column of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AgreementError
from tacit.problems import Problem, Tour


def columns_of(problem: Problem, plan: Sequence[int], /) -> NDArray[np.intp]:
    """The column of each row under a plan: of a tour, where it goes on to from each place.

    >>> from tacit.problems import Objective
    >>> km = Objective("km", None, weight_bound=9)
    >>> columns_of(Tour(name="t", rows=3, columns=3, objectives=(km,)), [0, 2, 1])
    array([2, 0, 1])
    """
    rows, columns, _ = problem.cells(np.array([plan], dtype=np.intp))
    rows, columns = np.broadcast_arrays(rows, columns)
    made = np.empty(problem.rows, dtype=np.intp)
    made[rows[0]] = columns[0]
    return made


def first_come(problem: Problem, /) -> list[int]:
    """First come, first served: the rows in their order take the first column that has room.

    A tour visits the places in their order.

    >>> from tacit.problems import Assignment, Objective
    >>> mask = np.array([[True, False, False], [False, False, False]])
    >>> costs = Objective("delay", None, weight_bound=9)
    >>> first_come(Assignment(name="tiny", rows=2, columns=3, objectives=(costs,), forbidden=mask))
    [1, 0]
    """
    if isinstance(problem, Tour):
        return list(range(problem.rows))
    room = np.bincount(problem.sealed_items, minlength=problem.columns)
    made = []
    for row in range(problem.rows):
        free = room > 0 if problem.forbidden is None else (room > 0) & ~problem.forbidden[row]
        column = int(np.argmax(free))
        if not free[column]:
            raise AgreementError(
                f"first come, first served leaves row {row} without a column; take another order "
                "of rows, allow more pairs, or agree that each run gives a reference plan"
            )
        room[column] -= 1
        made.append(column)
    return made
