"""A record unfolded for the attacks: which cells each candidate picks, and how it was rated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.design import Design, relative_design
from tacit.audit.record.record import Record, RecordedProblem
from tacit.disclosure import parse_disclosure
from tacit.errors import InputError

Cells = NDArray[np.float64]
"""An estimate: one number per cell of the matrix, flattened; larger is more valuable."""


@dataclass(frozen=True, eq=False)
class View:
    """What a curious platform knows of one objective."""

    problem: RecordedProblem
    disclosure: str
    search: dict[str, bool | int | str]
    """The agreed search, which is public."""
    seed: int | None
    """The seed of that search, where it was recorded."""
    sizes: NDArray[np.int64]
    plans: NDArray[np.int32]
    """All candidates, one per row."""
    cells: NDArray[np.int32]
    """Per candidate the flat indices of the cells that it picks."""
    levels: NDArray[np.int64]
    """0 for the best group of an evaluation, growing as candidates get worse."""
    values: NDArray[np.float64] | None
    """The fitness itself, where it is disclosed."""
    best: NDArray[np.float64] | None
    """The best fitness of each evaluation, where it is disclosed."""
    published: NDArray[np.int32]
    """Cells of the resulting plan, or of all plans one after the other."""
    plans_published: int
    weight_bound: int
    sign: int

    @property
    def evaluations(self) -> int:
        """How many sets were evaluated."""
        return len(self.sizes)

    @property
    def cell_count(self) -> int:
        """How many cells the matrix has."""
        return self.problem.rows * self.problem.columns

    @property
    def exact_values(self) -> NDArray[np.float64]:
        """The fitness itself; only where it is disclosed."""
        if self.values is None:
            raise InputError(f"{self.disclosure} discloses no values")
        return self.values

    @cached_property
    def evaluation_of(self) -> NDArray[np.int64]:
        """The evaluation of each candidate."""
        return np.repeat(np.arange(self.evaluations), self.sizes)

    @cached_property
    def design(self) -> Design:
        """The cells as a sparse matrix, relative to a typical candidate of each evaluation."""
        return relative_design(self.cells, self.sizes, self.cell_count)

    def first(self, evaluations: int, /) -> View:
        """The view after this many evaluations."""
        kept = int(self.sizes[:evaluations].sum())
        return replace(
            self,
            sizes=self.sizes[:evaluations],
            plans=self.plans[:kept],
            cells=self.cells[:kept],
            levels=self.levels[:kept],
            values=None if self.values is None else self.values[:kept],
            best=None if self.best is None else self.best[:evaluations],
        )

    def thinned(self, most: int, /) -> View:
        """At most so many of the evaluations, most of them early ones: these differ most."""
        if self.evaluations <= most:
            return self
        spaced = np.geomspace(1, self.evaluations, most).round().astype(np.int64) - 1
        chosen = np.unique(np.concatenate([np.arange(most // 3), spaced]))
        kept = np.isin(self.evaluation_of, chosen)
        return replace(
            self,
            sizes=self.sizes[chosen],
            plans=self.plans[kept],
            cells=self.cells[kept],
            levels=self.levels[kept],
            values=None if self.values is None else self.values[kept],
            best=None if self.best is None else self.best[chosen],
        )


def view_of(record: Record, objective: int = 0, /) -> View:
    """Unfold a record."""
    recorded = record.objectives[objective]
    disclosure = parse_disclosure(recorded.disclosure)
    disclosed = record.disclosed_array(objective)
    sizes = np.array(record.sizes, dtype=np.int64)
    exact = disclosure.method == "none"
    binary = disclosure.tells_flags
    best = None
    levels = np.empty(0, dtype=np.int64)
    if len(sizes):
        levels = disclosure.levels(disclosed.astype(np.bool_) if binary else disclosed)
    if recorded.best == "value" and len(sizes):
        best = np.array(recorded.disclosed_best, dtype=np.float64)
    plans = record.plan_array()
    return View(
        problem=record.problem,
        disclosure=recorded.disclosure,
        search=record.search,
        seed=record.seed,
        sizes=sizes,
        plans=plans,
        cells=cells_of(record.problem, plans),
        levels=levels,
        values=disclosed.astype(np.float64) if exact else None,
        best=best,
        published=cells_of(record.problem, record.published_plans).ravel(),
        plans_published=len(record.published_plans),
        weight_bound=recorded.weight_bound,
        sign=1 if recorded.sense == "maximize" else -1,
    )


def cells_of(problem: RecordedProblem, plans: NDArray[np.int32], /) -> NDArray[np.int32]:
    """Which cells each plan picks; where ways are symmetric those above the diagonal.

    >>> from tacit.audit.record.record import RecordedProblem
    >>> tours = RecordedProblem("t", "tour", 3, 3, True, [], [])
    >>> cells_of(tours, np.array([[2, 0, 1]], dtype=np.int32))
    array([[2, 1, 5]], dtype=int32)
    """
    rows, columns, _ = problem.known.cells(plans)
    if problem.symmetric:
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    return (rows * problem.columns + columns).astype(np.int32, copy=False)
