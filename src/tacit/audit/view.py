"""A record unfolded for the attacks: which cells each candidate picks, and how it was rated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record import Record, RecordedProblem
from tacit.disclosure import parse_disclosure
from tacit.errors import InputError

SAMPLE = 2000
COMMON = 0.9
"""Cells that this share of a population has in common say nothing about descent."""


@dataclass(frozen=True, eq=False)
class Design:
    """A sparse matrix (candidates by cells) and what it is relative to."""

    matrix: Any
    """SciPy CSR: +1 where a candidate picks a cell, -1 where the typical one does instead."""
    typical: NDArray[np.int64] | None
    """The index of each evaluation's typical candidate, where rows are relative to it."""

    @cached_property
    def transposed(self) -> Any:  # noqa: ANN401 - SciPy has no types
        """The transpose, laid out for fast products."""
        return self.matrix.T.tocsr()

    @cached_property
    def visits(self) -> NDArray[np.float64]:
        """In how many rows each cell occurs."""
        return np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]).astype(np.float64)

    def scores(self, cells: NDArray[np.float64], /) -> NDArray[np.float64]:
        """The value of each candidate by an estimate, up to a constant per evaluation."""
        return np.asarray(self.matrix @ cells)


def relative_design(
    cells: NDArray[np.int32], sizes: NDArray[np.int64], cell_count: int, /
) -> Design:
    """The design of candidates, relative to a typical one per evaluation.

    >>> cells = np.array([[0, 3], [0, 3], [1, 2]], dtype=np.int32)
    >>> relative_design(cells, np.array([3]), 4).matrix.toarray().astype(int).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0], [-1, 1, 1, -1]]
    """
    evaluation_of = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    typical = np.array(
        [first + _most_typical(cells[first:last], cell_count)
         for first, last in pairwise(starts.tolist())], dtype=np.int64,
    )  # fmt: skip
    picked = one_hot(cells, cell_count)
    if not _saves(picked, typical, evaluation_of):
        return Design(picked, None)
    relative = picked - picked[typical][evaluation_of]
    relative.eliminate_zeros()
    return Design(relative.tocsr(), typical)


def _saves(picked: Any, typical: NDArray[np.int64], evaluation_of: NDArray[np.int64]) -> bool:  # noqa: ANN401
    """Whether relative rows are shorter, judged by a sample."""
    some = np.linspace(0, len(evaluation_of) - 1, min(SAMPLE, len(evaluation_of))).astype(np.intp)
    # A relative row has an entry for every cell that only one of both picks, on either side: it is
    # shorter if more than half of the cells are common.
    common = picked[some].multiply(picked[typical[evaluation_of[some]]]).nnz
    return bool(2 * common > picked[some].nnz)


def one_hot(cells: NDArray[np.int32], cell_count: int, /) -> Any:  # noqa: ANN401
    """One row per candidate with a 1 in each cell that it picks."""
    from scipy.sparse import csr_matrix

    rows, width = cells.shape
    starts = np.arange(0, rows * width + 1, width)
    return csr_matrix((np.ones(rows * width), cells.ravel(), starts), shape=(rows, cell_count))


def _most_typical(cells: NDArray[np.int32], cell_count: int) -> int:
    """The candidate whose cells are the most common."""
    common = np.bincount(cells.ravel(), minlength=cell_count)
    return int(common[cells].sum(axis=1).argmax())


def shared_cells(
    born: NDArray[np.int32], parents: NDArray[np.int32], cell_count: int, /
) -> NDArray[np.float64]:
    """The number of cells shared by each pair from the two sets, frequent cells left out.

    >>> born = np.array([[0, 3]], dtype=np.int32)
    >>> shared_cells(born, np.array([[0, 2], [1, 2]], dtype=np.int32), 4).tolist()
    [[1.0, 0.0]]
    """
    here, there = one_hot(parents, cell_count), one_hot(born, cell_count)
    shares = np.bincount(parents.ravel(), minlength=cell_count) / len(parents)
    # A cell that everybody has would make all pairs look related.
    telling = np.flatnonzero((shares > 0) & (shares < COMMON))
    return np.asarray((there[:, telling] @ here[:, telling].T).toarray())


Cells = NDArray[np.float64]
"""An estimate: one number per cell of the matrix, flattened; larger is more valuable."""


@dataclass(frozen=True, eq=False)
class View:
    """The knowledge of a curious platform about one objective."""

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
        # Later populations have converged: their candidates share most cells and compare only a
        # few.
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
    binary = disclosure.discloses_flags
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
    """Return the cells that each plan picks; of symmetric ways those above the diagonal.

    >>> from tacit.audit.record import RecordedProblem
    >>> tours = RecordedProblem("t", "tour", 3, 3, True, [], [])
    >>> cells_of(tours, np.array([[2, 0, 1]], dtype=np.int32))
    array([[2, 1, 5]], dtype=int32)
    """
    rows, columns, _ = problem.known.cells(plans)
    if problem.symmetric:
        rows, columns = np.minimum(rows, columns), np.maximum(rows, columns)
    return (rows * problem.columns + columns).astype(np.int32, copy=False)
