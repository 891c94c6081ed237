"""The travelling salesperson: one closed tour through all cities, symmetric or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import SEALED
from tacit.errors import ProblemError
from tacit.jit import compiling_pays, kernel
from tacit.problems.matching import good_tour
from tacit.problems.objective import Sense, whole_numbers
from tacit.problems.problem import Cells, Plans, Problem


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
        return self.rows

    @property
    def plan_length(self) -> int:
        return self.rows

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        return genomes

    def cells(self, plans: Plans, /) -> Cells:
        return Cells(plans, np.roll(plans, -1, axis=1))

    def sums(self, weights: NDArray[np.int64], plans: NDArray[np.int32], /) -> NDArray[np.int64]:
        if compiling_pays(len(plans)):
            return _tour_loop(weights, plans)
        return super().sums(weights, plans)

    def good_plan(self, values: NDArray[np.float64], /) -> NDArray[np.int32]:
        return good_tour(values)

    def canonical(self, plans: Plans, /) -> Plans:
        """From city 0 on and, where both directions are the same, to the smaller neighbour.

        >>> from tacit.problems import Objective
        >>> km = Objective("km", None, weight_bound=9)
        >>> tour = Tour(name="t", rows=4, columns=4, objectives=(km,), symmetric=True)
        >>> tour.canonical(np.array([[2, 3, 0, 1], [3, 2, 1, 0]])).tolist()
        [[0, 1, 2, 3], [0, 1, 2, 3]]
        """
        # Nodes count distinct candidates by this form: one tour in other spellings must not fill a
        # population, since its disclosure would then be about a single plan.
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
    sums = np.empty(tours.shape[0], dtype=np.int64)
    last = tours.shape[1] - 1
    for i in range(tours.shape[0]):
        total = np.int64(weights[tours[i, last], tours[i, 0]])
        for step in range(last):
            total += weights[tours[i, step], tours[i, step + 1]]
        sums[i] = total
    return sums


# Vehicle routing: from one depot to all customers, in several vehicles of limited capacity.


MOST_VEHICLES = 1 << 12


@dataclass(frozen=True, eq=False, kw_only=True)
class Routing(Problem):
    """Visit every customer once with vehicles that start and end at the depot, place 0.

    `demands` (of each place; the depot has 0) and `capacities` (of each vehicle) are public, the
    distances are not. A plan is the routes one after the other, each with the depot before it, so
    that it has as many zeros as there are vehicles: 0 2 0 3 1 are two routes. A vehicle that stays
    at the depot costs nothing, whatever the distance from the depot to itself is said to be.

    >>> from tacit.problems import Objective
    >>> km = Objective("km", np.array([[7, 1, 2], [3, 0, 4], [5, 6, 0]]), sense="minimize")
    >>> problem = Routing(name="tiny", rows=3, columns=3, objectives=(km,), demands=(0, 2, 3),
    ...                   capacities=(5, 5))
    >>> problem.fitness(0, np.array([[0, 1, 2, 0], [0, 1, 0, 2]], dtype=np.int32))
    array([-10, -11])
    """

    kind: ClassVar[str] = "routing"
    data_fields: ClassVar[tuple[str, ...]] = ("demands", "capacities")
    between_places: ClassVar[bool] = True
    preset: ClassVar[str] = "paper-tsp"
    service_preset: ClassVar[str] = "paper-tsp"
    heads: ClassVar[tuple[str, str]] = ("vehicle", "customer")
    usual_sense: ClassVar[Sense] = "minimize"

    demands: tuple[int, ...] = ()
    capacities: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        demands = whole_numbers("demands", self.demands, count=self.rows, least=0)
        # In a file or an agreement the field may be a bare number.
        count = len(self.capacities) if isinstance(self.capacities, (list, tuple)) else 0
        if not 1 <= count <= MOST_VEHICLES:
            raise ProblemError(f"there are {count} vehicles; give 1 to {MOST_VEHICLES} capacities")
        capacities = whole_numbers("capacities", self.capacities, count=count, least=0)
        if demands[0] != 0:
            raise ProblemError("the depot, place 0, has a demand; give it 0")
        # Set before the checks of the base class: the bound on sums depends on the number of
        # vehicles.
        object.__setattr__(self, "demands", demands)
        object.__setattr__(self, "capacities", capacities)
        super().__post_init__()
        if not self.proven and self._loading is None:
            raise ProblemError(
                f"no way was found to load a demand of {sum(demands)} into {count} vehicles that "
                f"take {sum(capacities)}; add a vehicle or raise capacities"
            )

    @property
    def genome_length(self) -> int:
        """Customers, and the bounds between vehicles, are permuted."""
        return self.rows + len(self.capacities) - 2

    @property
    def plan_length(self) -> int:
        """Every customer, and the depot before every route."""
        return self.rows + len(self.capacities) - 1

    @property
    def terms(self) -> int:
        """A way to every customer, and one back from every route that has any."""
        customers = self.rows - 1
        return customers + min(customers, len(self.capacities))

    def plans(self, genomes: NDArray[np.int32], /) -> NDArray[np.int32]:
        """The routes of each genome.

        Items below the number of customers are customers, others bounds between routes. A customer
        that its vehicle has no room for goes to the first one that has. Where none has, all go to
        the vehicles of a loading that is known to fit, in the order of the genome.
        """
        # Only a `proven` problem gets here without a loading: best fit may miss one that exists.
        loading = np.zeros(self.rows, dtype=np.int64) if self._loading is None else self._loading
        demands, capacities = np.array(self.demands), np.array(self.capacities)
        return _routes(np.ascontiguousarray(genomes), demands, capacities, loading)

    @cached_property
    def _loading(self) -> NDArray[np.int64] | None:
        """A vehicle for each customer: the largest demand first, where it leaves least room."""
        room, vehicle = np.array(self.capacities), np.zeros(self.rows, dtype=np.int64)
        for place in np.argsort(-np.array(self.demands), kind="stable"):
            fitting = np.flatnonzero(room >= self.demands[place])
            if not len(fitting):
                return None
            # Best fit decreasing, which packs tighter than the order of a genome does.
            vehicle[place] = fitting[room[fitting].argmin()]
            room[vehicle[place]] -= self.demands[place]
        return vehicle

    def cells(self, plans: Plans, /) -> Cells:
        """The ways of all routes; from the depot to itself there is none."""
        after = np.roll(plans, -1, axis=1)
        return Cells(plans, after, (plans != after).astype(np.int64))

    def _fault(self, plans: Plans) -> tuple[NDArray[np.bool_], str] | None:
        vehicles, count = len(self.capacities), len(plans)
        at_depot = plans == 0
        in_order = np.sort(plans, axis=1, kind="stable")
        # A feasible plan, sorted: one zero per vehicle, then every customer once.
        visits = np.concatenate([np.zeros(vehicles - 1, dtype=np.int64), np.arange(self.rows)])
        wrong = (in_order != visits).any(axis=1) | ~at_depot[:, 0]
        if wrong.any():
            return wrong, "does not begin each route at the depot or visit each customer once"
        # One bin per plan and vehicle, so that one weighted count gives the loads of all plans.
        served_by = np.arange(count)[:, None] * vehicles + at_depot.cumsum(axis=1) - 1
        loads = np.bincount(served_by.ravel(), np.array(self.demands)[plans].ravel())
        over = np.asarray((loads.reshape(count, vehicles) > self.capacities).any(axis=1))
        return (over, "loads a vehicle with more than it takes") if over.any() else None

    def listed(self, plan: Sequence[int], /) -> list[tuple[int, int]]:
        """The customers in the order of the routes, each with its vehicle."""
        vehicle = np.cumsum(np.array(plan) == 0) - 1
        return [(int(v), place) for v, place in zip(vehicle, plan, strict=True) if place]


@kernel
def _routes(
    genomes: NDArray[np.int32],
    demands: NDArray[np.int64],
    capacities: NDArray[np.int64],
    loading: NDArray[np.int64],
) -> NDArray[np.int32]:
    customers, vehicles = len(demands) - 1, len(capacities)
    # Two passes: first a vehicle for each customer, then the routes in the order of the genome.
    plans = np.zeros((genomes.shape[0], customers + vehicles), dtype=np.int32)
    for i in range(genomes.shape[0]):
        room, served = capacities.copy(), np.zeros(customers + 1, dtype=np.int64)
        current, fits = 0, True
        for item in genomes[i]:
            if item >= customers:
                current += 1
                continue
            place = item + 1
            chosen = current
            if room[chosen] < demands[place]:
                chosen = 0
                while chosen < vehicles and room[chosen] < demands[place]:
                    chosen += 1
            if chosen == vehicles:
                # First fit has failed for this order; the loading that is known serves all instead.
                fits = False
                break
            served[place] = chosen
            room[chosen] -= demands[place]
        by = served if fits else loading
        at = 0
        for vehicle in range(vehicles):
            at += 1
            for item in genomes[i]:
                if item < customers and by[item + 1] == vehicle:
                    plans[i, at] = item + 1
                    at += 1
    return plans
