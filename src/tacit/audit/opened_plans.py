"""Attacks on plans that were opened: by whoever knows the public start, and by owners of rows.

An owner knows its own rows of the plan and the costs of these rows, so also which columns it would
have liked better: somebody else wanted those. All of it is about columns, and of no other row in
particular. Where there are as many rows as columns, that cannot be distinguished from a constant
per column, which changes no plan; so the score is 0 exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.audit.cost_models import Schedule
from tacit.audit.measure import cells_that_count, centred
from tacit.audit.record import RecordedProblem
from tacit.audit.view import Cells

Matrix = NDArray[np.float64]
Plan = NDArray[np.integer[Any]]
LARGEST_SHAPES = 3
"""Variations of a delay curve that are learned; the others vary too little."""
LEAST_SHAPE = 1e-6
RIDGE = 0.01
"""A share of each kind's square. Without it, few examples cannot separate similar kinds."""


@dataclass(frozen=True, eq=False)
class Opening:
    """A plan that was opened, and what an attacker knows besides."""

    problem: RecordedProblem
    plan: Plan
    """The column of each row."""
    start: Plan | None = None
    """The plan that the search began with; None for whoever has only the opened one."""
    schedule: Schedule | None = None
    """How delays usually cost money, where the forbidden pairs are a schedule."""

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Cells that count."""
        return cells_that_count(self.problem)

    @cached_property
    def kinds(self) -> Matrix:
        """Return one line per kind: its cells, centred as the measure of leakage centres them."""
        return np.array([centred(kind, self.counts)[self.counts] for kind in self._kinds()])

    def _kinds(self) -> Iterator[Matrix]:
        yield from _of_plan(self.problem, self.plan)
        if self.start is not None:
            yield from _of_both(self.problem, self.plan, self.start)
        if self.schedule is not None:
            yield from _of_curves(self.schedule, self.plan, self.start)


class Example(NamedTuple):
    """The terms that one problem with known costs adds to the normal equations."""

    squares: Matrix
    by_costs: NDArray[np.float64]


def example_of(opening: Opening, weights: Matrix, /) -> Example:
    """Return what an opening teaches whose weights, larger is better, are known."""
    truth = centred(weights, opening.counts)[opening.counts]
    return Example(opening.kinds @ opening.kinds.T, opening.kinds @ truth)


def learned_from(examples: Sequence[Example], /) -> NDArray[np.float64]:
    """Return how much each kind of cell says, by least squares over all examples."""
    squares = np.sum([each.squares for each in examples], axis=0)
    # Relative to each kind's own square, as kinds differ in scale.
    squares[np.diag_indices_from(squares)] *= 1 + RIDGE
    return np.asarray(
        np.linalg.lstsq(squares, np.sum([each.by_costs for each in examples], axis=0))[0]
    )


def from_known_start(opening: Opening, learned: NDArray[np.float64], /) -> Cells:
    """Estimate the cells."""
    cells = np.zeros(opening.counts.shape)
    cells[opening.counts] = learned @ opening.kinds
    return cells.ravel()


def _of_plan(problem: RecordedProblem, plan: Plan) -> Iterator[Matrix]:
    """Cells of a plan, and its columns where not all are used."""
    cells = np.zeros((problem.rows, problem.columns))
    cells[np.arange(problem.rows), plan] = 1.0
    yield cells
    # Otherwise all columns are used, and the pattern would be a constant.
    if problem.columns > problem.rows:
        yield np.broadcast_to(cells.max(axis=0), cells.shape)


def _of_both(problem: RecordedProblem, plan: Plan, start: Plan) -> Iterator[Matrix]:
    """Cells of the start, those that were kept, and those among which rows exchanged places."""
    yield from _of_plan(problem, start)
    index = np.arange(problem.rows)
    kept = np.zeros((problem.rows, problem.columns))
    kept[index, plan] = plan == start
    yield kept
    by_row, by_column = _exchanges(problem.columns, plan, start)
    moved = (by_row[:, None] >= 0) & (by_column >= 0)
    yield moved.astype(np.float64)
    yield (moved & (by_row[:, None] == by_column)).astype(np.float64)
    swapped = np.isin(by_row, np.flatnonzero(np.bincount(by_row[by_row >= 0]) == 2))
    for each in (plan, start):
        # Of two rows that swap, both gains add up to more than of two rows of a longer cycle.
        cells = np.zeros(kept.shape)
        cells[index, each] = swapped
        yield cells


def _exchanges(columns: int, plan: Plan, start: Plan) -> tuple[Plan, Plan]:
    """Return the number of the exchange that each row and each column took part in, or -1.

    >>> of_rows, of_columns = _exchanges(4, np.array([1, 0, 2]), np.array([0, 1, 2]))
    >>> of_rows.tolist(), of_columns.tolist()
    ([0, 0, -1], [0, 0, -1, -1])
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    moved = np.flatnonzero(plan != start)
    of_rows, of_columns = np.full(len(plan), -1), np.full(columns, -1)
    if not len(moved):
        return of_rows, of_columns
    # Rows and columns as the two sides of a graph, with an edge for each cell left or entered. A
    # connected part is one exchange: a cycle, or a path that ends in a free column.
    pairs = np.concatenate([plan[moved], start[moved]])
    size = len(plan) + columns
    graph = csr_matrix(
        (np.ones(len(pairs)), (np.tile(moved, 2), len(plan) + pairs)), shape=(size, size)
    )
    labels = connected_components(graph, directed=False)[1]
    of_rows[moved] = np.unique(labels[moved], return_inverse=True)[1]
    of_columns[plan[moved]], of_columns[start[moved]] = of_rows[moved], of_rows[moved]
    return of_rows, of_columns


def _of_curves(schedule: Schedule, plan: Plan, start: Plan | None) -> Iterator[Matrix]:
    """The mean curve, that of such rows in optimal plans, and variations by what rows have got."""
    allowed, at = schedule.delays >= 0, np.maximum(schedule.delays, 0)
    yield -np.where(allowed, schedule.mean[at], 0.0)
    index = np.arange(len(plan))
    given = schedule.delays[index, plan]
    usual = schedule.amounts_given(given) @ schedule.shapes
    yield -np.where(allowed, np.take_along_axis(usual, at, axis=1), 0.0)
    by_row = schedule.features(given)
    if start is not None:
        before = schedule.delays[index, start].astype(np.float64)
        change = given - before
        more = [before, np.sqrt(before), np.maximum(change, 0), np.minimum(change, 0),
                change == 0, (change == 0) * np.sqrt(before), change > 0]  # fmt: skip
        by_row = np.concatenate([by_row, np.stack(more, axis=1)], axis=1)
    sizes = np.linalg.norm(schedule.shapes, axis=1)
    count = int((sizes[:LARGEST_SHAPES] > LEAST_SHAPE * sizes[0]).sum())
    for shape in schedule.shapes[:count]:
        varied = -np.where(allowed, shape[at], 0.0)
        for feature in by_row.T:
            yield feature[:, None] * varied


def from_own_rows(weights: NDArray[np.float64], own: Mapping[int, int], /) -> dict[str, Cells]:
    """Estimates of the others' cells; of `weights` only the rows of `own`, its plan, are used."""
    rows = list(own)
    taken = np.zeros(weights.shape[1])
    taken[list(own.values())] = -1.0
    wanted = np.zeros(weights.shape[1])
    for row, column in own.items():
        # The plan is close to optimal: had others wanted that column less, this row would have it.
        wanted = np.maximum(wanted, weights[row] - weights[row, column])
    estimates = {"left to the others": taken, "wanted by others": wanted}
    found = {name: np.tile(each, (weights.shape[0], 1)) for name, each in estimates.items()}
    for each in found.values():
        each[rows] = 0.0
    return {name: each.ravel() for name, each in found.items()}
