"""Sealed search in the clear: the specification of what the nodes compute on shares.

One secret parent, changed in every generation by what the winners of its blocks move; noise makes
the choice an annealing step, and the best plan so far is kept beside it, without noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems import Problem
from tacit.search.moves import PublicShape, Schedule, weighted_shape


def public_shape(
    problem: Problem, weighting: Sequence[int], /, *, symmetric: bool = False
) -> PublicShape:
    """What is public of a problem under a weighting of its objectives.

    >>> from tacit.problems import generate_assignment
    >>> public_shape(generate_assignment(1, rows=3), [2]).rows
    3
    """
    return weighted_shape(
        problem.kind,
        problem.rows,
        problem.columns,
        objectives=[
            (factor * objective.sign, objective.weight_bound)
            for factor, objective in zip(weighting, problem.objectives, strict=True)
        ],
        symmetric=symmetric,
        forbids=problem.allowed is not None,
    )


def worth_table(problem: Problem, weighting: Sequence[int], /) -> NDArray[np.int64]:
    """What each cell is worth to a plan under a weighting of the objectives; more is better.

    >>> from tacit.problems import generate_assignment
    >>> worth_table(generate_assignment(1, rows=3), [2]).shape
    (3, 3)
    """
    total = np.zeros((problem.rows, problem.columns), dtype=np.int64)
    for factor, objective in zip(weighting, problem.objectives, strict=True):
        if objective.weights is None:
            raise ProblemError(
                f"the weights of objective {objective.name!r} are not here; only nodes that hold "
                "their shares can search"
            )
        total += factor * objective.sign * objective.weights
    if problem.allowed is not None:
        total[~problem.allowed] = public_shape(problem, weighting).low
    return total


@dataclass(eq=False)
class ClearSealedSearch:
    """A sealed search whose secrets are all here.

    `start` says which item is at each position in the beginning; nodes draw it so that nobody
    knows it.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.search.moves import SealedParameters
    >>> problem = generate_assignment(1, rows=6)
    >>> schedule = Schedule(public_shape(problem, [1]), SealedParameters(block=3), seed=1)
    >>> search = ClearSealedSearch(worth_table(problem, [1]), schedule, np.arange(6))
    >>> improved = search.advance(20, horizon=20)
    >>> bool(search.best_value == problem.fitness(0, search.plan()[None])[0])
    True
    """

    worth: NDArray[np.int64]
    schedule: Schedule
    start: NDArray[np.intp]
    generation: int = 0

    def __post_init__(self) -> None:
        shape = self.schedule.shape
        lines = self.worth if shape.kind == "tour" else self.worth.T
        table = lines[self.start]
        if shape.kind == "tour":
            table = table[:, self.start]
        self.table = np.ascontiguousarray(np.column_stack([table, self.start]), dtype=np.int64)
        self.best_value, self.best = self.value(), self._ids()

    def _ids(self) -> NDArray[np.int64]:
        return self.table[: self.schedule.shape.rows, -1].copy()

    def value(self) -> int:
        """What the current plan is worth."""
        rows = self.schedule.shape.rows
        at = np.arange(rows)
        step = 1 if self.schedule.shape.kind == "tour" else 0
        return int(self.table[at, (at + step) % rows].sum())

    def advance(self, generations: int, /, *, horizon: int) -> list[bool]:
        """Go on by so many generations; tells of each whether the best plan improved."""
        return [self._step(horizon) for _ in range(generations)]

    def _step(self, horizon: int) -> bool:
        now = self.schedule.generation(self.generation, horizon=horizon)
        gains = now.moves.gains(self.table)
        keys = gains * self.schedule.gain_factor + now.offsets.reshape(gains.shape)
        to, source = now.moves.chosen(keys.argmax(axis=1))
        self.table[to] = self.table[source]
        if self.schedule.shape.kind == "tour":
            self.table[:, to] = self.table[:, source]
        self.generation += 1
        value = self.value()
        improved = value > self.best_value
        if improved:
            self.best_value, self.best = value, self._ids()
        return improved

    def plan(self) -> NDArray[np.int32]:
        """The best plan so far."""
        return self.best.astype(np.int32)
