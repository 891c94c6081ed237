"""The travelling salesperson: one closed tour through all cities, symmetric or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED
from tacit.jit import compiling_pays, kernel
from tacit.problems.model.good_plans import good_tour
from tacit.problems.model.objective import Sense
from tacit.problems.model.problem import Cells, Plans, Problem


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
    between_places: ClassVar[bool] = True
    preset: ClassVar[str] = "paper-tsp"
    service_preset: ClassVar[str] = "paper-tsp"
    sealed_moves: ClassVar[str | None] = "tour"
    usual_disclosure: ClassVar[str] = SEALED
    heads: ClassVar[tuple[str, str]] = ("position", "city")
    usual_sense: ClassVar[Sense] = "minimize"

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

    def cells(self, plans: Plans, /) -> Cells:
        """From each city to the next, and back to the first."""
        return Cells(plans, np.roll(plans, -1, axis=1))

    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        """Sum of weights[c, next city] over the closed tour."""
        if compiling_pays(len(plans)):
            return _tour_loop(weights, plans)
        return super().sums(weights, plans)

    def good_plan(self, values: NDArray[np.float64], /) -> NDArray[np.int32]:
        """A tour that is a good local optimum."""
        return good_tour(values)

    def canonical(self, plans: Plans, /) -> Plans:
        """From city 0 on and, where both directions are the same, to the smaller neighbour.

        >>> from tacit.problems import Objective
        >>> km = Objective("km", None, weight_bound=9)
        >>> tour = Tour(name="t", rows=4, columns=4, objectives=(km,), symmetric=True)
        >>> tour.canonical(np.array([[2, 3, 0, 1], [3, 2, 1, 0]])).tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
        """
        at = np.argmin(plans, axis=1)[:, None] + np.arange(plans.shape[1])
        plans = np.take_along_axis(plans, at % plans.shape[1], axis=1)
        if self.is_symmetric and plans.shape[1] > 2:
            back = plans[:, 1] > plans[:, -1]
            plans[back, 1:] = plans[back, :0:-1]
        return plans

    def _fault(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        in_order = np.sort(plans, axis=1, kind="stable")
        twice = (in_order[:, 1:] == in_order[:, :-1]).any(axis=1)
        return (twice, "takes a column twice") if twice.any() else None


# The hot loop of the search; without Numba, `Problem.cell_sums` gives the same integers slower.
@kernel
def _tour_loop(weights: NDArray[np.int64], tours: NDArray[np.int32]) -> NDArray[np.int64]:
    """Sum weights[city, next city] around each closed tour."""
    sums = np.empty(tours.shape[0], dtype=np.int64)
    last = tours.shape[1] - 1
    for i in range(tours.shape[0]):
        total = np.int64(weights[tours[i, last], tours[i, 0]])
        for step in range(last):
            total += weights[tours[i, step], tours[i, step + 1]]
        sums[i] = total
    return sums
