"""Linear sum assignment: every row gets a column of its own (m x n, m <= n)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED
from tacit.errors import ProblemError, TacitError
from tacit.jit import compiling_pays, kernel
from tacit.problems.matching import feasible_assignment
from tacit.problems.objective import whole_numbers
from tacit.problems.problem import Cells, Plans, Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class Assignment(Problem):
    """Assign every row a different column.

    With fewer rows than columns a genome still permutes all columns, and the first m of it are
    the plan; the rest wait at the end for the operators to bring them in.

    >>> from tacit.problems import Objective
    >>> pay = Objective("pay", np.array([[1, 9, 2], [8, 3, 4]]))
    >>> problem = Assignment(name="tiny", rows=2, columns=3, objectives=(pay,))
    >>> problem.fitness(0, np.array([[1, 0], [2, 1]], dtype=np.int32))
    array([17,  5])
    """

    kind: ClassVar[str] = "assignment"
    sealed_moves: ClassVar[str | None] = "assignment"
    usual_disclosure: ClassVar[str] = SEALED

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ProblemError("the problem has no rows; give at least one")
        # Before `sealed_items` is first computed: with capacities it depends on their checked form.
        self._check_room()
        super().__post_init__()
        if self.forbidden is not None:
            self._check_forbidden(self.forbidden)

    def _check_room(self) -> None:
        if self.rows > self.columns:
            raise ProblemError(
                f"{self.rows} rows cannot each get one of {self.columns} columns; "
                "swap rows and columns or add columns"
            )

    def _check_forbidden(self, forbidden: NDArray[np.bool_]) -> None:
        if forbidden.shape != (self.rows, self.columns):
            shape = " x ".join(map(str, forbidden.shape))
            raise ProblemError(
                f"the mask of forbidden pairs is {shape} in a {self.rows} x {self.columns} "
                "problem; give it the shape of the weights"
            )
        # It takes long for thousands of rows, and whoever drafted the problem has done it.
        if not self.proven and feasible_assignment(~forbidden[:, self.sealed_items]) is None:
            raise ProblemError(
                "the forbidden pairs leave no way to give every row a column of its own; "
                "allow more pairs"
            )
        mask = np.ascontiguousarray(forbidden)
        mask.setflags(write=False)
        # The dataclass is frozen, and the array read-only from here on.
        object.__setattr__(self, "forbidden", mask)

    @property
    def genome_length(self) -> int:
        return self.columns

    @property
    def plan_length(self) -> int:
        return self.rows

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        return None if self.forbidden is None else ~self.forbidden

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        return genomes[:, : self.rows]

    def cells(self, plans: Plans, /) -> Cells:
        return Cells(np.arange(self.rows)[None, :], plans)

    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        if compiling_pays(len(plans)):
            return _assignment_loop(weights, plans)
        return super().sums(weights, plans)

    def good_plan(self, values: NDArray[np.float64], /) -> NDArray[np.int32]:
        """A best plan, by an exact algorithm."""
        try:
            from scipy.optimize import linear_sum_assignment
        except ImportError:
            raise TacitError(
                "the optimum needs SciPy, which is not installed; run pip install 'tacit[solve]'"
            ) from None
        # SciPy minimizes, and takes an infinite cost for a forbidden pair.
        costs = -values if self.forbidden is None else np.where(self.forbidden, np.inf, -values)
        # A column that takes several rows counts as so many columns.
        items = self.sealed_items
        return np.asarray(items[linear_sum_assignment(costs[:, items])[1]], dtype=np.int32)

    def canonical(self, plans: Plans, /) -> Plans:
        """A plan has one spelling."""
        return plans

    def _fault(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        crowded = self._crowded(plans)
        if crowded is not None:
            return crowded
        if self.forbidden is not None:
            wrong = self.forbidden[self.cells(plans)[:2]].any(axis=1)
            if wrong.any():
                return wrong, "takes a pair that is forbidden"
        return None

    def _crowded(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        """Plans that give a column to more rows than it takes."""
        # A stable sort of numbers this small is a radix sort, several times faster than others.
        in_order = np.sort(plans, axis=1, kind="stable")
        same = in_order[:, 1:] == in_order[:, :-1]
        return (same.any(axis=1), "takes a column twice") if same.any() else None


# The hot loop of the search; without Numba, `Problem.cell_sums` gives the same integers slower.
@kernel
def _assignment_loop(weights: NDArray[np.int64], plans: NDArray[np.int32]) -> NDArray[np.int64]:
    sums = np.empty(plans.shape[0], dtype=np.int64)
    for i in range(plans.shape[0]):
        total = np.int64(0)
        for row in range(plans.shape[1]):
            total += weights[row, plans[i, row]]
        sums[i] = total
    return sums


# Capacitated assignment: every row gets a column, and a column takes so many rows at most.


MOST_PLACES, MOST_CHOICES = 1 << 16, 10**7
"""Places in all, and places times rows: what a search permutes and a feasibility check looks at."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CapacitatedAssignment(Assignment):
    """Assign every row a column that has room; `capacities` are public.

    A genome permutes places, of which a column has as many as rows it takes (no more than there
    are rows). A plan has columns, so that it does not matter which of its places a row got.

    >>> from tacit.problems import Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3], [2, 6]]))
    >>> problem = CapacitatedAssignment(name="tiny", rows=3, columns=2, objectives=(pay,),
    ...                                 capacities=(1, 2))
    >>> problem.plans(np.array([[2, 0, 1]], dtype=np.int32))
    array([[1, 0, 1]], dtype=int32)
    """

    kind: ClassVar[str] = "capacitated"
    data_fields: ClassVar[tuple[str, ...]] = ("capacities",)

    capacities: tuple[int, ...] = ()
    """How many rows each column takes."""

    def _check_room(self) -> None:
        numbers = whole_numbers("capacities", self.capacities, count=self.columns, least=0)
        object.__setattr__(self, "capacities", numbers)
        if self.rows > sum(numbers):
            raise ProblemError(
                f"{self.rows} rows cannot be assigned to columns that take {sum(numbers)} in all; "
                "raise their capacities or add columns"
            )
        # A capacity above the number of rows would only add places that no row can need.
        places = sum(min(number, self.rows) for number in numbers)
        if places > MOST_PLACES or places * self.rows > MOST_CHOICES:
            raise ProblemError(
                f"columns that take {places} rows in all are too many places for {self.rows} rows; "
                "lower their capacities"
            )

    @cached_property
    def sealed_items(self) -> NDArray[np.intp]:
        """The column of each place."""
        return np.repeat(np.arange(self.columns), np.minimum(self.capacities, self.rows))

    @property
    def genome_length(self) -> int:
        return len(self.sealed_items)

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        return None if self.forbidden is None else ~self.forbidden[:, self.sealed_items]

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """The columns of the first m places of each genome."""
        return self.sealed_items.astype(np.int32)[genomes[:, : self.rows]]

    def _crowded(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        room = np.minimum(self.capacities, self.rows)
        in_order = np.sort(plans, axis=1, kind="stable")
        # Where a column has too many rows, it stands again that many places further on.
        at = np.arange(self.rows) + room[in_order]
        again = np.take_along_axis(in_order, np.minimum(at, self.rows - 1), axis=1) == in_order
        over = np.asarray((again & (at < self.rows)).any(axis=1))
        return (over, "gives a column more rows than it takes") if over.any() else None
