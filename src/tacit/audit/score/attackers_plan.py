"""The plan that an attacker computes from an estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.audit.record.record import RecordedProblem
from tacit.jit import kernel

STARTS = 5


def best_plan_by(problem: RecordedProblem, matrix: NDArray[np.float64], /) -> NDArray[np.int32]:
    """The best plan by a matrix: exact for assignments, a good local optimum for tours.

    >>> problem = RecordedProblem("p", "assignment", 2, 2, False, [], [])
    >>> best_plan_by(problem, np.array([[1.0, 9.0], [8.0, 3.0]]))
    array([1, 0], dtype=int32)
    """
    if problem.kind == "assignment":
        return _assignment(problem, matrix)
    costs = np.ascontiguousarray(-matrix)
    tours = [_improved(costs, _nearest_first(costs, start)) for start in _starts(problem.rows)]
    return min(tours, key=lambda tour: float(costs[tour, np.roll(tour, -1)].sum()))


def _assignment(problem: RecordedProblem, matrix: NDArray[np.float64]) -> NDArray[np.int32]:
    from scipy.optimize import linear_sum_assignment

    costs = -matrix
    if problem.forbidden:
        costs = costs.copy()
        rows, columns = zip(*problem.forbidden, strict=True)
        costs[list(rows), list(columns)] = np.inf
    return np.asarray(linear_sum_assignment(costs)[1], dtype=np.int32)


def _starts(cities: int) -> range:
    return range(0, cities, max(cities // STARTS, 1))


@kernel
def _nearest_first(costs: NDArray[np.float64], start: int) -> NDArray[np.int32]:
    cities = costs.shape[0]
    tour = np.empty(cities, dtype=np.int32)
    unseen = np.ones(cities, dtype=np.bool_)
    tour[0] = start
    unseen[start] = False
    for step in range(1, cities):
        here, nearest = tour[step - 1], -1
        for there in range(cities):
            if unseen[there] and (nearest < 0 or costs[here, there] < costs[here, nearest]):
                nearest = there
        tour[step] = nearest
        unseen[nearest] = False
    return tour


@kernel
def _improved(costs: NDArray[np.float64], tour: NDArray[np.int32]) -> NDArray[np.int32]:
    """Reverse segments and move single cities while that helps.

    A reversal is judged by its two new legs, which is exact for symmetric costs; for others it is
    made only if the whole tour gets better.
    """
    cities = len(tour)
    better = True
    rounds = 0
    while better and rounds < 1000:
        better = False
        rounds += 1
        for first in range(cities - 1):
            for last in range(first + 1, cities):
                if first == 0 and last == cities - 1:
                    continue
                before, after = tour[first - 1], tour[(last + 1) % cities]
                gain = costs[before, tour[first]] + costs[tour[last], after]
                gain -= costs[before, tour[last]] + costs[tour[first], after]
                for step in range(first, last):
                    gain += costs[tour[step], tour[step + 1]] - costs[tour[step + 1], tour[step]]
                if gain > 1e-9:
                    tour[first : last + 1] = tour[first : last + 1][::-1].copy()
                    better = True
        for place in range(cities):
            city = tour[place]
            rest = np.concatenate((tour[:place], tour[place + 1 :]))
            before, after = rest[place - 1], rest[place % (cities - 1)]
            saved = costs[before, city] + costs[city, after] - costs[before, after]
            for gap in range(cities - 1):
                left, right = rest[gap - 1], rest[gap]
                paid = costs[left, city] + costs[city, right] - costs[left, right]
                if saved - paid > 1e-9:
                    tour[:gap] = rest[:gap]
                    tour[gap] = city
                    tour[gap + 1 :] = rest[gap:]
                    better = True
                    break
    return tour
