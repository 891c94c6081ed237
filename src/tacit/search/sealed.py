"""Sealed search of a tour in the clear: the specification of what the nodes compute on shares.

In every generation each secret parent makes the moves of the winners of its blocks; noise makes the
choice an annealing step, and the best plan so far is kept beside it, without noise. Several parents
are paired every few generations, and both of a pair continue from the better one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ProblemError
from tacit.problems import Problem
from tacit.search.moves import TourParameters, TourSchedule, public_shape

_START_STREAM = 1 << 32
"""Apart from the streams of moves, whose numbers are those of generations."""


def weighted_values(problem: Problem, weighting: Sequence[int], /) -> NDArray[np.int64]:
    """The value of each row and column under a weighting; larger is better."""
    total = np.zeros((problem.rows, problem.columns), dtype=np.int64)
    for factor, objective in zip(weighting, problem.objectives, strict=True):
        if objective.weights is None:
            raise ProblemError(
                f"the weights of objective {objective.name!r} are not here; only nodes that hold "
                "their shares can search"
            )
        total += factor * objective.sign * objective.weights
    return total


@dataclass(eq=False)
class ClearTour:
    """A sealed search of a tour in the clear, from the value of each leg.

    `start` says which place is at each position in the beginning, with a line for each parent;
    nodes draw it so that nobody knows it.

    >>> from tacit.problems import shipped_problem
    >>> problem = shipped_problem("kroA100")
    >>> search = ClearTour.drawn(problem, TourParameters(), seed=1)
    >>> search.advance(5, horizon=20)
    >>> bool(search.value == problem.fitness(0, search.best()[None])[0])
    True
    """

    leg_values: NDArray[np.int64]
    schedule: TourSchedule
    start: NDArray[np.intp]
    step: int = 0
    """How many generations are done."""
    is_proved, gap = False, None

    @classmethod
    def drawn(
        cls,
        problem: Problem,
        parameters: TourParameters,
        weighting: Sequence[int] = (1,),
        /,
        *,
        seed: int,
        stream: int = 0,
    ) -> ClearTour:
        """Return the search with a start that follows from the seed, in place of a secret one."""
        shape = public_shape(problem, weighting)
        schedule = TourSchedule(shape, parameters, seed=seed, stream=stream)
        words = np.random.PCG64([seed, stream, _START_STREAM]).random_raw(
            parameters.parents * shape.columns
        )
        start = np.argsort(words.reshape(parameters.parents, -1), axis=1, kind="stable")
        return cls(weighted_values(problem, weighting), schedule, start)

    def __post_init__(self) -> None:
        tables = [
            np.column_stack([self.leg_values[order][:, order], order]) for order in self.start
        ]
        self.table = np.array(tables, dtype=np.int64)
        self._best_values, self._best = self.values(), self._ids()

    def _ids(self) -> NDArray[np.int64]:
        return self.table[:, :, -1].copy()

    def values(self) -> NDArray[np.int64]:
        places = self.schedule.shape.rows
        at = np.arange(places)
        total: NDArray[np.int64] = self.table[:, at, (at + 1) % places].sum(axis=1)
        return total

    def advance(self, count: int, /, *, horizon: int) -> None:
        for _ in range(count):
            self._generation(horizon)

    def _generation(self, horizon: int) -> None:
        now = self.schedule.generation(self.step, horizon=horizon)
        before = self.values()
        gains = now.moves.gains(self.table)
        keys = gains * self.schedule.gain_factor + now.offsets.reshape(gains.shape)
        self._take(*now.moves.chosen(keys.argmax(axis=1)))
        for a, b in now.parent_pairs:
            winner, loser = (b, a) if before[a] < before[b] else (a, b)
            self.table[loser] = self.table[winner]
        self.step += 1
        values = self.values()
        better = values > self._best_values
        self._best_values[better], self._best[better] = values[better], self._ids()[better]

    def _take(self, to: NDArray[np.integer], source: NDArray[np.integer]) -> None:
        """Copy to positions, numbered through all parents, the content of others."""
        columns = self.schedule.shape.columns
        lines = self.table.reshape(-1, self.table.shape[-1])
        lines[to] = lines[source]
        parent = to // columns
        self.table[parent, :, to % columns] = self.table[parent, :, source % columns]

    @property
    def _best_parent(self) -> int:
        """The first among equally good ones; before the first generation they are not compared."""
        return int(self._best_values.argmax()) if self.step else 0

    @property
    def value(self) -> int:
        return int(self._best_values[self._best_parent])

    def best(self) -> NDArray[np.int32]:
        """The best plan so far; before the first generation the first parent's."""
        plan: NDArray[np.int32] = self._best[self._best_parent].astype(np.int32)
        return plan

    def plan(self) -> list[int]:
        return [int(place) for place in self.best()]
