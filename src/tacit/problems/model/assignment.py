"""Linear sum assignment: every row gets a column of its own (m x n, m <= n)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems.model.matching import feasible_assignment
from tacit.problems.model.problem import Problem
from tacit.problems.model.sums import assignment_sums


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

    forbidden: NDArray[np.bool_] | None = None
    """Public: true where a row may not take a column."""

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ProblemError("the problem has no rows; give at least one")
        if self.rows > self.columns:
            raise ProblemError(
                f"{self.rows} rows cannot each get one of {self.columns} columns; "
                "swap rows and columns or add columns"
            )
        super().__post_init__()
        if self.forbidden is not None:
            self._check_forbidden(self.forbidden)

    def _check_forbidden(self, forbidden: NDArray[np.bool_]) -> None:
        if forbidden.shape != (self.rows, self.columns):
            shape = " x ".join(map(str, forbidden.shape))
            raise ProblemError(
                f"the mask of forbidden pairs is {shape} in a {self.rows} x {self.columns} "
                "problem; give it the shape of the weights"
            )
        if feasible_assignment(~forbidden) is None:
            raise ProblemError(
                "the forbidden pairs leave no way to give every row a column of its own; "
                "allow more pairs"
            )
        mask = np.ascontiguousarray(forbidden)
        mask.setflags(write=False)
        object.__setattr__(self, "forbidden", mask)

    @property
    def genome_length(self) -> int:
        """All columns are permuted."""
        return self.columns

    @property
    def plan_length(self) -> int:
        """One column per row."""
        return self.rows

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        """Which column each row may take, or None where it may take any."""
        return None if self.forbidden is None else ~self.forbidden

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """The first m entries of each genome."""
        return genomes[:, : self.rows]

    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        """Sum of weights[r, plan[r]] over the rows."""
        return assignment_sums(weights, plans)

    def check_plan(self, plan: Sequence[int], /) -> None:
        """Refuse a plan that gives two rows one column, or a row a forbidden one."""
        if len(plan) != self.rows:
            raise ProblemError(f"the plan has {len(plan)} entries for {self.rows} rows")
        owner: dict[int, int] = {}
        for row, column in enumerate(plan):
            if not 0 <= column < self.columns:
                raise ProblemError(f"row {row} gets column {column}, which does not exist")
            if column in owner:
                raise ProblemError(f"rows {owner[column]} and {row} both get column {column}")
            if self.forbidden is not None and self.forbidden[row, column]:
                raise ProblemError(f"row {row} gets column {column}, which is forbidden")
            owner[column] = row
