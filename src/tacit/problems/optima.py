"""The value of the best possible plan: the reference for problems whose weights are known.

The paper's section 4.1: the optimum of an assignment by an exact algorithm, and for several
objectives a *ground truth* from 101 weightings of the normalized matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems.assignment import Assignment
from tacit.problems.matching import least_assignment
from tacit.problems.problem import Problem

WEIGHTINGS = 101
"""The paper's number for two objectives; more objectives get at least as many."""
SMALL_CELLS = 40_000
"""Assignments of so many pairs are solved in less time than SciPy takes to import."""


@dataclass(frozen=True)
class Optimum:
    """The best value, in the user's sense and scaled, and a plan that has it where one is known."""

    value: int
    plan: tuple[int, ...] | None


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Plans and what they are worth, one row each, best in the first objective first."""

    plans: NDArray[np.int32]
    values: NDArray[np.int64]
    """One column per objective, in the user's sense and scaled."""


def optimum(problem: Problem, /) -> Optimum | None:
    """Find the optimum of the only objective, or None where it is unknown.

    An assignment whose weights are here is solved exactly; otherwise, and for other kinds, the
    optimum stated with the problem counts.

    >>> from tacit.problems import Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]))
    >>> optimum(Assignment(name="tiny", rows=2, columns=2, objectives=(pay,)))
    Optimum(value=17, plan=(1, 0))
    """
    if len(problem.objectives) > 1:
        raise ProblemError(
            f"{problem.name} has {len(problem.objectives)} objectives and no single optimum; "
            "use its ground truth"
        )
    objective = problem.objectives[0]
    if not isinstance(problem, Assignment) or objective.weights is None:
        return None if problem.optimum is None else Optimum(problem.optimum, None)
    plan = problem.good_plan(objective.sign * objective.weights.astype(np.float64))
    # Added up again in whole numbers: the solver's sum of floats may be rounded.
    value = objective.sign * int(problem.fitness(0, plan[None, :])[0])
    return Optimum(value, tuple(plan.tolist()))


def optimal_value(problem: Problem, /) -> int | None:
    """Find the value of the optimum alone, of a small assignment without SciPy's import.

    >>> from tacit.problems import Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]))
    >>> optimal_value(Assignment(name="tiny", rows=2, columns=2, objectives=(pay,)))
    17
    """
    objective = problem.objectives[0]
    items = problem.sealed_items
    small = problem.rows * len(items) <= SMALL_CELLS
    if not (small and isinstance(problem, Assignment)) or objective.weights is None:
        found = optimum(problem)
        return None if found is None else found.value
    costs = -objective.sign * objective.weights[:, items].astype(np.float64)
    if problem.forbidden is not None:
        costs[problem.forbidden[:, items]] = np.inf
    chosen = least_assignment(costs)
    if chosen is None:
        return None
    plan = np.asarray(items[chosen], dtype=np.int32)
    return objective.sign * int(problem.fitness(0, plan[None, :])[0])


def ground_truth(problem: Problem, /) -> GroundTruth:
    """Find Pareto-optimal plans of an assignment with several objectives.

    Each matrix is normalized to 0..1; for two objectives the weights are i/100 and 1 - i/100, for
    more the points of an even grid on the simplex, the coarsest with at least 101 points. Plans
    that are worth the same count once, and plans that another dominates (an end of the grid may
    give one, where only one objective counts) are left out.

    >>> from tacit.problems import generate_assignment
    >>> ground_truth(generate_assignment(1, rows=4, objectives=2)).values.tolist()
    [[3119, 1938], [2547, 2574], [1993, 2659]]
    """
    count = len(problem.objectives)
    if not isinstance(problem, Assignment) or count < 2:
        raise ProblemError(
            f"{problem.name} is no assignment with several objectives, so it has no ground truth; "
            "use its optimum"
        )
    costs = np.stack([_normalized_costs(problem, i) for i in range(count)])
    plans = np.stack(
        [problem.good_plan(-np.tensordot(w, costs, axes=1)) for w in simplex_grid(count)]
    )
    fitness = np.stack([problem.fitness(i, plans) for i in range(count)], axis=1)
    # Several weightings find plans of the same values; one of each is enough.
    _, first = np.unique(fitness, axis=0, return_index=True)
    # `unique` sorts upwards, and the plan that is best in the first objective comes first here.
    optimal = first[::-1][_nondominated(fitness[first[::-1]])]
    signs = np.array([objective.sign for objective in problem.objectives], dtype=np.int64)
    return GroundTruth(plans[optimal], fitness[optimal] * signs)


def simplex_grid(objectives: int, /) -> Iterator[NDArray[np.float64]]:
    """Weights that sum to 1, evenly spread: the coarsest grid with at least 101 points.

    >>> grid = list(simplex_grid(2))
    >>> len(grid), grid[30].tolist()
    (101, [0.3, 0.7])
    >>> len(list(simplex_grid(3)))
    105
    """
    for parts in simplex_points(objectives, at_least=WEIGHTINGS):
        yield np.array(parts, dtype=np.float64) / sum(parts)


def simplex_points(objectives: int, /, *, at_least: int) -> Iterator[tuple[int, ...]]:
    """The same grid in whole steps, the coarsest with so many points.

    >>> list(simplex_points(2, at_least=3))
    [(0, 2), (1, 1), (2, 0)]
    """
    steps = 1
    while comb(steps + objectives - 1, objectives - 1) < at_least:
        steps += 1
    places = steps + objectives - 1
    # Stars and bars: the gaps between the bars are the parts of one point.
    for bars in combinations(range(places), objectives - 1):
        edges = (-1, *bars, places)
        yield tuple(right - left - 1 for left, right in pairwise(edges))


def _normalized_costs(problem: Assignment, index: int) -> NDArray[np.float64]:
    objective = problem.objectives[index]
    if objective.weights is None:
        raise ProblemError(
            f"the weights of objective {objective.name!r} are with its participants; "
            "the ground truth needs all weights"
        )
    least, most = int(objective.weights.min()), int(objective.weights.max())
    # Weights that are all equal leave nothing to normalize; 1 avoids a division by zero.
    return -objective.sign * (objective.weights - least) / max(most - least, 1)


def _nondominated(fitness: NDArray[np.int64]) -> NDArray[np.bool_]:
    at_least = (fitness[:, None, :] >= fitness[None, :, :]).all(axis=2)
    # Entry (i, j) says of plan i that it dominates plan j, so a column has all that dominate j.
    better = (fitness[:, None, :] > fitness[None, :, :]).any(axis=2)
    return np.asarray(~(at_least & better).any(axis=0))
