"""Sealed search in the clear: the specification of what the nodes compute on shares.

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
from tacit.search.moves import Schedule, public_shape


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


def value_table(problem: Problem, weighting: Sequence[int], /) -> NDArray[np.int64]:
    """The value of each item to each row, or place; that of a forbidden pair is low."""
    total = weighted_values(problem, weighting)
    if problem.forbidden is not None:
        total[problem.forbidden] = public_shape(problem, weighting).low
    return total[:, problem.sealed_items]


@dataclass(eq=False)
class ClearSealedSearch:
    """A sealed search in the clear.

    `start` says which item is at each position in the beginning, with a line for each parent;
    nodes draw it so that nobody knows it. `columns` are those of the items in a plan,
    where it is not one each.

    >>> from tacit.problems import generate_assignment
    >>> from tacit.search.moves import SealedParameters
    >>> problem = generate_assignment(1, rows=6)
    >>> schedule = Schedule(public_shape(problem, [1]), SealedParameters(block=3), seed=1)
    >>> search = ClearSealedSearch(value_table(problem, [1]), schedule, np.arange(6)[None])
    >>> improved = search.advance(20, horizon=20)
    >>> bool(search.best_value == problem.fitness(0, search.plan()[None])[0])
    True
    """

    cell_values: NDArray[np.int64]
    schedule: Schedule
    start: NDArray[np.intp]
    columns: NDArray[np.intp] | None = None
    generation: int = 0

    def __post_init__(self) -> None:
        lines = self.cell_values if self._is_tour else self.cell_values.T
        ids = np.arange(len(lines)) if self.columns is None else self.columns
        tables = [
            np.column_stack([lines[order][:, order] if self._is_tour else lines[order], ids[order]])
            for order in self.start
        ]
        self.table = np.array(tables, dtype=np.int64)
        self._best_values, self._best = self.values(), self._ids()

    @property
    def _is_tour(self) -> bool:
        return self.schedule.shape.kind == "tour"

    def _ids(self) -> NDArray[np.int64]:
        return self.table[:, : self.schedule.shape.rows, -1].copy()

    def values(self) -> NDArray[np.int64]:
        """The value of each parent's current plan."""
        rows = self.schedule.shape.rows
        at = np.arange(rows)
        total: NDArray[np.int64] = self.table[:, at, (at + self._is_tour) % rows].sum(axis=1)
        return total

    def advance(self, generations: int, /, *, horizon: int) -> list[bool]:
        """Run this many generations; returns for each whether the best plan improved."""
        return [self._step(horizon) for _ in range(generations)]

    def _step(self, horizon: int) -> bool:
        now = self.schedule.generation(self.generation, horizon=horizon)
        before, best_before = self.values(), self._best_values.max()
        gains = now.moves.gains(self.table)
        keys = gains * self.schedule.gain_factor + now.offsets.reshape(gains.shape)
        self._take(*now.moves.chosen(keys.argmax(axis=1)))
        for a, b in now.parent_pairs:
            winner, loser = (b, a) if before[a] < before[b] else (a, b)
            self.table[loser] = self.table[winner]
        self.generation += 1
        values = self.values()
        better = values > self._best_values
        self._best_values[better], self._best[better] = values[better], self._ids()[better]
        return bool(self._best_values.max() > best_before)

    def _take(self, to: NDArray[np.integer], source: NDArray[np.integer]) -> None:
        """Copy to positions, numbered through all parents, the content of others."""
        columns = self.schedule.shape.columns
        lines = self.table.reshape(-1, self.table.shape[-1])
        lines[to] = lines[source]
        if self._is_tour:
            parent = to // columns
            self.table[parent, :, to % columns] = self.table[parent, :, source % columns]

    @property
    def _best_parent(self) -> int:
        """The first among equally good ones; before the first generation they are not compared."""
        return int(self._best_values.argmax()) if self.generation else 0

    @property
    def best_value(self) -> int:
        """The value of the best plan so far."""
        return int(self._best_values[self._best_parent])

    def plan(self) -> NDArray[np.int32]:
        """The best plan so far; before the first generation the first parent's."""
        plan: NDArray[np.int32] = self._best[self._best_parent].astype(np.int32)
        return plan
