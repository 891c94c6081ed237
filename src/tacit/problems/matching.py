"""Assigning rows to columns without SciPy, by augmenting paths (Kuhn 1955)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tacit.jit import kernel

if TYPE_CHECKING:
    from tacit.problems.problem import Problem


def feasible_assignment(allowed: NDArray[np.bool_], /) -> NDArray[np.int32] | None:
    """Find one assignment that uses allowed pairs only, or None if there is none.

    >>> feasible_assignment(np.array([[True, True], [True, False]]))
    array([1, 0], dtype=int32)
    >>> feasible_assignment(np.array([[True, False], [True, False]])) is None
    True
    """
    rows, columns = allowed.shape
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    options = [np.flatnonzero(allowed[row]) for row in range(rows)]
    for row in range(rows):
        if not _augment(row, options, row_of, column_of):
            return None
    return column_of.astype(np.int32)


def first_served(allowed: NDArray[np.bool_], /) -> NDArray[np.int32] | None:
    """Assign rows in the order of their first allowed column to the first one that is free.

    Where that leaves a row without a column, any assignment of allowed pairs; None without one.

    >>> first_served(np.array([[False, True, True], [True, True, False]]))
    array([1, 0], dtype=int32)
    >>> first_served(np.array([[True, True], [True, False]]))
    array([1, 0], dtype=int32)
    """
    rows, columns = allowed.shape
    free, column_of = np.ones(columns, dtype=bool), np.zeros(rows, dtype=np.int32)
    for row in np.argsort(allowed.argmax(axis=1), kind="stable"):
        options = free & allowed[row]
        column = int(options.argmax())
        if not options[column]:
            return feasible_assignment(allowed)
        free[column], column_of[row] = False, column
    return column_of


def least_assignment(costs: NDArray[np.float64], /) -> NDArray[np.int32] | None:
    """Find an assignment of least cost, by shortest augmenting paths (Crouse 2016).

    What SciPy does in compiled code; for a hundred rows this takes less time than its import.
    Infinite costs are forbidden pairs; None if every assignment has one.

    >>> least_assignment(np.array([[4.0, 1, 3], [2, 0, 5], [3, 2, 2]]))
    array([1, 0, 2], dtype=int32)
    """
    rows, columns = costs.shape
    u, v = np.zeros(rows), np.zeros(columns)
    row_of, column_of = np.full(columns, -1), np.full(rows, -1)
    for start in range(rows):
        distance, came_from = np.full(columns, np.inf), np.full(columns, -1)
        is_done = np.zeros(columns, dtype=bool)
        row, passed, length = start, [start], 0.0
        while True:
            through = length + costs[row] - u[row] - v
            is_shorter = ~is_done & (through < distance)
            distance[is_shorter], came_from[is_shorter] = through[is_shorter], row
            column = int(np.where(is_done, np.inf, distance).argmin())
            length = float(distance[column])
            # Every path goes on over forbidden pairs alone, so this row cannot get a column.
            if is_done[column] or length == np.inf:
                return None
            is_done[column] = True
            if row_of[column] < 0:
                break
            row = int(row_of[column])
            passed.append(row)
        # Dual variables: reduced costs stay non-negative, so the next path is shortest as well.
        u[start] += length
        moved = passed[1:]
        u[moved] += length - distance[column_of[moved]]
        v[is_done] -= length - distance[is_done]
        _shift_along(column, start, came_from, row_of, column_of)
    return column_of.astype(np.int32)


def _augment(
    start: int,
    options: list[NDArray[np.int64]],
    row_of: NDArray[np.int64],
    column_of: NDArray[np.int64],
) -> bool:
    """Find a free column for `start`, moving others on: breadth first, since depth recurses."""
    came_from = np.full(len(row_of), -1)
    frontier = deque([start])
    while frontier:
        row = frontier.popleft()
        # Each column is reached once, so that a search looks at every allowed pair at most once.
        reached = options[row][came_from[options[row]] < 0]
        came_from[reached] = row
        holders = row_of[reached]
        free = reached[holders < 0]
        if len(free):
            _shift_along(int(free[0]), start, came_from, row_of, column_of)
            return True
        frontier.extend(holders.tolist())
    return False


def _shift_along(
    column: int,
    start: int,
    came_from: NDArray[np.int64],
    row_of: NDArray[np.int64],
    column_of: NDArray[np.int64],
) -> None:
    while True:
        row = int(came_from[column])
        # From the free column back to `start`: each row takes the column that it was reached for,
        # and leaves its own to the row before it on the path.
        left, row_of[column], column_of[row] = int(column_of[row]), row, column
        if row == start:
            return
        column = left


# Good plans by a matrix of values that is here: a good tour, or what a plain search finds.


STARTS = 5
STEPS, TRIED = 400, 64


def climbed_plan(problem: Problem, values: NDArray[np.float64], /) -> NDArray[np.int32]:
    """Turn stretches of a genome around for as long as one of some drawn ones helps.

    >>> from tacit.problems import generate_routing
    >>> problem = generate_routing(1, places=5, vehicles=2)
    >>> problem.check_plan(climbed_plan(problem, np.ones((5, 5))).tolist())
    """
    # A fixed seed, so that the same values give the same plan wherever it is computed.
    rng = np.random.Generator(np.random.PCG64(0))
    genome = np.arange(problem.genome_length, dtype=np.int32)
    places = np.arange(len(genome))
    for _ in range(STEPS):
        ends = np.sort(rng.integers(0, len(genome), (TRIED, 2)), axis=1)
        first, last = ends[:, :1], ends[:, 1:]
        inside = (places >= first) & (places <= last)
        tried = genome[np.where(inside, first + last - places, places)]
        # It competes itself, so that a step never makes it worse.
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
                # The whole tour turned around is the same cycle and has no two legs to exchange.
                if first == 0 and last == cities - 1:
                    continue
                before, after = tour[first - 1], tour[(last + 1) % cities]
                gain = costs[before, tour[first]] + costs[tour[last], after]
                gain -= costs[before, tour[last]] + costs[tour[first], after]
                for step in range(first, last):
                    gain += costs[tour[step], tour[step + 1]] - costs[tour[step + 1], tour[step]]
                # More than the rounding of sums, so that two moves cannot undo each other for ever.
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
