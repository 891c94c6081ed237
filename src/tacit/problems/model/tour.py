"""The travelling salesperson: one closed tour through all cities, symmetric or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems.model.problem import Problem
from tacit.problems.model.sums import tour_sums


@dataclass(frozen=True, eq=False, kw_only=True)
class Tour(Problem):
    """Visit every city once and come back. Row c of a matrix holds the ways that leave city c.

    >>> from tacit.problems import Objective
    >>> km = Objective("km", np.array([[0, 1, 5], [4, 0, 2], [3, 6, 0]]), sense="minimize")
    >>> problem = Tour(name="tiny", rows=3, columns=3, objectives=(km,))
    >>> problem.fitness(0, np.array([[0, 1, 2], [0, 2, 1]], dtype=np.int32))
    array([ -6, -15])
    """

    kind: ClassVar[str] = "tour"

    coordinates: NDArray[np.float64] | None = None
    """Where the cities lie, for drawing; n x 2."""

    def __post_init__(self) -> None:
        if self.rows != self.columns:
            raise ProblemError(
                f"a tour needs a square matrix, this one is {self.rows} x {self.columns}; "
                "give one row and one column per city"
            )
        if self.rows < 2:
            raise ProblemError("a tour needs at least two cities; add some")
        super().__post_init__()
        if self.coordinates is not None and self.coordinates.shape != (self.rows, 2):
            raise ProblemError(
                f"there are coordinates for {len(self.coordinates)} of {self.rows} cities; "
                "give an x and a y for each"
            )

    @property
    def genome_length(self) -> int:
        """All cities are permuted."""
        return self.rows

    @property
    def plan_length(self) -> int:
        """One leg per city."""
        return self.rows

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """A genome is the tour itself."""
        return genomes

    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        """Sum of weights[c, next city] over the closed tour."""
        return tour_sums(weights, plans)

    def check_plan(self, plan: Sequence[int], /) -> None:
        """Refuse a plan that is not a permutation of the cities."""
        if sorted(plan) != list(range(self.rows)):
            raise ProblemError(f"the tour does not visit each of the {self.rows} cities once")
