"""The annealing of a sealed tour, made by a platform that sees what a disclosure shows.

The platform knows its parent. In every generation it has the parent and all children of the sealed
search's schedule evaluated as plans, in one set, and chooses in each block by what is disclosed.

Values: the step of the sealed search, with the same noise, so the same plans from the same start.

Less than values: ranks take the place of values. A disclosure puts plans into groups, whose sizes
tell which ranks each has. A child counts as the middle of its group and the parent, which it has to
displace, as the first of its own. The gain is the difference of the two, and the unit of
temperatures, the largest weight elsewhere, is the number of plans in the set.

Groups of several plans hide how good a step was, but the best value of the next set is disclosed:
if that is lower than what the parent's set had, the step is taken back, and the parent takes
another one. Ranks of single plans tell enough, and uphill steps are part of annealing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import Disclosure, Exact
from tacit.errors import ParameterError
from tacit.evaluators import ObjectiveEvaluation, ObjectiveEvaluator, SimulatedObjective
from tacit.problems import Problem
from tacit.search import ClearTour
from tacit.search.moves import Generation, MoveSet, TourParameters, TourSchedule

RANK = 128
"""A rank in units of gains; even, since the middle of a group may lie between two ranks."""


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """A parent by its rank among its children."""

    content: NDArray[np.intp]
    best: int
    """The best value of the set."""
    moves: MoveSet
    gains: NDArray[np.int64]


@dataclass(eq=False)
class PlatformAnnealing:
    """Annealing on evaluations; `start` says which city is at each position.

    >>> from tacit.problems import shipped_problem
    >>> problem = shipped_problem("kroD100")
    >>> search = platform_annealing(problem, TourParameters(children=9), Exact(), seed=1)
    >>> search.advance(20, horizon=20)
    >>> search.best_plans().shape
    (1, 100)
    """

    evaluator: ObjectiveEvaluator
    disclosure: Disclosure
    schedule: TourSchedule
    start: NDArray[np.intp]
    generation: int = 0

    def __post_init__(self) -> None:
        if self.schedule.parameters.parents != 1:
            raise ParameterError("a platform anneals one parent; set parents to 1")
        self.content = self.start.copy()
        """Which city is at each position now."""
        self._highest: int | None = None
        self._parent: _Evaluated | None = None
        self._best = self.plan()[None]

    def plan(self) -> NDArray[np.int32]:
        """The parent."""
        return self.content.astype(np.int32)

    def best_plans(self) -> NDArray[np.int32]:
        """The best plan so far, or those that may be it as far as the platform knows."""
        return self._best

    def advance(self, generations: int, /, *, horizon: int) -> None:
        """Run this many generations, an evaluation each."""
        for _ in range(generations):
            self._step(horizon)

    @property
    def candidates(self) -> int:
        """How many plans an evaluation has."""
        return 1 + self.schedule.blocks * (self.schedule.children - 1)

    @cached_property
    def _by_rank(self) -> TourSchedule:
        """The same course with the noise of ranks."""
        spread = RANK * self.candidates
        return replace(self.schedule, shape=replace(self.schedule.shape, low=0, spread=spread))

    def _step(self, horizon: int) -> None:
        sees_values = isinstance(self.disclosure, Exact)
        course = self.schedule if sees_values else self._by_rank
        now = course.generation(self.generation, horizon=horizon)
        plans = self._children(now.moves)
        seen = self.evaluator.evaluate(plans, until=None)
        if sees_values:
            self._step_by_values(now, seen.disclosed)
        else:
            self._step_by_ranks(now, plans, seen)
        self.generation += 1

    def _step_by_values(self, now: Generation, values: NDArray[np.int64]) -> None:
        gains = _by_block(values - values[0], now.moves)
        winners = self._take(now.moves, gains * self.schedule.gain_factor, now.offsets)
        # The best parent is kept, as in the sealed search; gains of disjoint blocks add up.
        value = int(values[0] + gains[np.arange(len(gains)), winners].sum())
        if value > (int(values[0]) if self._highest is None else self._highest):
            self._highest, self._best = value, self.plan()[None]
        elif self._highest is None:
            self._highest = int(values[0])

    def _step_by_ranks(
        self, now: Generation, plans: NDArray[np.int32], seen: ObjectiveEvaluation
    ) -> None:
        if seen.best is None:
            raise ParameterError("the best value is withheld; disclose it")
        best, standing = int(seen.best), self._standing(seen)
        if self._highest is None or best >= self._highest:
            # As runs do: the best group of the set with the highest best, the latest of equals.
            self._highest = best
            self._best = plans[self.disclosure.levels(seen.disclosed) == 0]
        told_apart = len(np.unique(seen.disclosed)) == len(plans)
        if self._parent is None or told_apart or best >= self._parent.best:
            gains = _by_block(standing - standing[0], now.moves)
            self._parent = _Evaluated(self.content.copy(), best, now.moves, gains)
        self.content = self._parent.content.copy()
        gains = self._parent.gains * self._by_rank.gain_factor
        self._take(self._parent.moves, gains, now.offsets)

    def _take(
        self, moves: MoveSet, keys: NDArray[np.int64], offsets: NDArray[np.int64]
    ) -> NDArray[np.intp]:
        """Make the moves of the winners of all blocks; returns who won."""
        winners: NDArray[np.intp] = (keys + offsets.reshape(keys.shape)).argmax(axis=1)
        to, source = moves.chosen(winners)
        self.content[to] = self.content[source]
        return winners

    def _children(self, moves: MoveSet) -> NDArray[np.int32]:
        """The parent, then all children that differ from it, block by block."""
        contents = np.tile(self.content, (moves.blocks * moves.children, 1))
        child, to, source = moves.runs.expanded()
        block = child // moves.children
        contents[child, moves.positions[block, to]] = self.content[moves.positions[block, source]]
        differs = np.arange(len(contents)) % moves.children > 0
        differs[0] = True
        return contents[differs].astype(np.int32)

    def _standing(self, seen: ObjectiveEvaluation) -> NDArray[np.int64]:
        """Minus the rank that each plan counts as, the parent's first."""
        levels = self.disclosure.levels(seen.disclosed)
        sizes = np.bincount(levels)
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        # A group has the ranks from `first` to `first + sizes - 1`, and this is their middle.
        standing = -((2 * first + sizes - 1) * (RANK // 2))[levels]
        standing[0] = -first[levels[0]] * RANK
        return np.asarray(standing, dtype=np.int64)


def _by_block(gains: NDArray[np.int64], moves: MoveSet) -> NDArray[np.int64]:
    """Blocks x children, with a gain of 0 for the parent in each."""
    table = np.zeros((moves.blocks, moves.children), dtype=np.int64)
    table[:, 1:] = gains[1:].reshape(moves.blocks, moves.children - 1)
    return table


def platform_annealing(
    problem: Problem, parameters: TourParameters, disclosure: Disclosure, /, *, seed: int
) -> PlatformAnnealing:
    """Annealing on a simulated engine, with the course and the start of the sealed search."""
    twin = ClearTour.drawn(problem, parameters, seed=seed)
    objective = replace(problem.objectives[0], disclosure=disclosure)
    return PlatformAnnealing(
        SimulatedObjective(replace(problem, objectives=(objective,)), 0),
        disclosure,
        twin.schedule,
        start=twin.start[0],
    )
