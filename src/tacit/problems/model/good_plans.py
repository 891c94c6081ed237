"""Good plans by a matrix of values that is here: a good tour, or what a plain search finds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel

if TYPE_CHECKING:
    from tacit.problems.model.problem import Problem

STARTS = 5
STEPS, TRIED = 400, 64


def climbed_plan(problem: Problem, values: NDArray[np.float64], /) -> NDArray[np.int32]:
    """Turn stretches of a genome around for as long as one of some drawn ones helps.

    >>> from tacit.problems import generate_routing
    >>> problem = generate_routing(1, places=5, vehicles=2)
    >>> problem.check_plan(climbed_plan(problem, np.ones((5, 5))).tolist())
    """
    rng = np.random.Generator(np.random.PCG64(0))
    genome = np.arange(problem.genome_length, dtype=np.int32)
    places = np.arange(len(genome))
    for _ in range(STEPS):
        ends = np.sort(rng.integers(0, len(genome), (TRIED, 2)), axis=1)
        first, last = ends[:, :1], ends[:, 1:]
        inside = (places >= first) & (places <= last)
        tried = genome[np.where(inside, first + last - places, places)]
        tried[0] = genome
        worth = problem.cell_sums(values, problem.plans(tried))
        genome = tried[worth.argmax()]
    return np.asarray(problem.plans(genome[None])[0])


def good_tour(values: NDArray[np.float64], /) -> NDArray[np.int32]:
    """A closed tour that is a good local optimum.

    >>> sorted(good_tour(np.ones((4, 4))).tolist())
    [0, 1, 2, 3]
    """
    costs = np.ascontiguousarray(-values)
    tours = [_improved(costs, _nearest_first(costs, start)) for start in _starts(len(costs))]
    return min(tours, key=lambda tour: float(costs[tour, np.roll(tour, -1)].sum()))


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
