"""The forest over the integers: the specification of the one on shares, which gives the same.

Ties are broken by the same public numbers, so the matching and the prices after every phase are
the same, in the ring of the shares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.forest.coins import FIRST_STEP, ORDER, PROFITS, ROOTS, START, Coins
from tacit.mpc.forest.schedule import Phase
from tacit.mpc.forest.shape import ForestShape

Numbers = NDArray[np.int64]
Indices = NDArray[np.intp]
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class ClearState:
    """The state of one weighting."""

    column_of: Indices
    """The column of each row, or -1."""
    prices: Numbers
    profits: Numbers
    kept: NDArray[np.bool_]
    first: Indices | None = None
    """The column of each row in the plan with which the forest began, if it did."""

    @property
    def row_of(self) -> Indices:
        """The row of each column, or -1."""
        rows = np.full(len(self.column_of), _NOBODY)
        matched = np.flatnonzero(self.column_of != _NOBODY)
        rows[self.column_of[matched]] = matched
        return rows


def completed(column_of: Indices, /) -> Indices:
    """Free rows take the free columns, by rank."""
    whole = column_of.copy()
    taken = np.isin(np.arange(len(whole)), whole)
    whole[whole == _NOBODY] = np.flatnonzero(~taken)
    return whole


def cheaper_of(now: Indices, other: Indices, costs: Numbers, /) -> Indices:
    """Of two matchings the cheaper one, `now` where both cost the same."""
    rows = np.arange(len(costs))
    return other if costs[rows, other].sum() < costs[rows, now].sum() else now


def _least(values: Numbers, ties: Indices) -> tuple[Numbers, Indices]:
    """The least value of each line and its place, of equal ones that with the least number."""
    apart = values - values[:, :1]  # prices drift, and may wrap; differences do not
    least = apart.min(axis=1, keepdims=True)
    at = np.where(apart == least, ties, len(ties[0])).argmin(axis=1)
    return values[np.arange(len(values)), at], at


class ClearForest:
    """One weighting of a problem in the clear; `costs` are rows x columns, scaled.

    >>> shape = ForestShape(2, spread=7)
    >>> forest = ClearForest(3 * np.array([[7, 1], [2, 3]]), shape, Coins(1))
    >>> from tacit.mpc.forest.schedule import plain
    >>> forest.advance(forest.start(), plain(2, 2)).column_of
    array([1, 0])
    """

    def __init__(self, costs: Numbers, shape: ForestShape, coins: Coins) -> None:
        self.costs, self.shape, self.coins = costs.astype(np.int64), shape, coins

    def _ties(self, phase: int, step: int, groups: int, candidates: int) -> Indices:
        ties: Indices = self.coins.ties(phase, step, groups, candidates)[0]
        return ties

    def start(self) -> ClearState:
        """Nothing is matched."""
        size = self.shape.size
        prices, _ = _least(self.costs.T, self._ties(START, ROOTS, size, size))
        profits, _ = _least(self.costs - prices, self._ties(START, PROFITS, size, size))
        return ClearState(np.full(size, _NOBODY), prices, profits, np.zeros(size, dtype=bool))

    def advance(self, state: ClearState, phases: Iterable[Phase]) -> ClearState:
        """The state after these phases."""
        for phase in phases:
            state = self._phase(self.filtered(state, phase) if phase.falls else state, phase)
        return state

    def filtered(self, state: ClearState, phase: Phase) -> ClearState:
        """Rows that are further than epsilon from their best column go free."""
        rows = np.arange(len(state.column_of))
        own = self.costs[rows, state.column_of] - state.prices[state.column_of]
        far = own - state.profits > phase.epsilon
        column_of = np.where(far, _NOBODY, state.column_of)
        kept = np.zeros_like(state.kept)
        return ClearState(column_of, state.prices, state.profits, kept, state.first)

    def _paths(
        self, state: ClearState, phase: Phase
    ) -> tuple[Numbers, Numbers, Indices, Indices | None]:
        """Distances, those before the last step, roots, and parents (the size for a root)."""
        size, far, epsilon = self.shape.size, self.shape.far, phase.epsilon
        left = self.costs - state.prices
        matched = state.column_of != _NOBODY
        from_rows = left - state.profits[:, None] + epsilon + far * matched[:, None]
        rho, root = _least(from_rows.T, self._ties(phase.number, ROOTS, size, size))
        if phase.steps == 1:
            return rho, rho, root, None
        row_of = state.row_of
        between = np.where(
            (row_of == _NOBODY)[:, None],
            far,
            left[row_of] - left[row_of, np.arange(size)][:, None],
        )
        between = (between + epsilon).T
        first = before = now = np.where(state.kept, epsilon, rho)
        parent = root
        for step in range(1, phase.steps):
            last = rho if step == phase.steps - 1 else first
            values = np.concatenate([between + now, last[:, None]], axis=1)
            ties = self._ties(phase.number, FIRST_STEP + step - 1, size, size + 1)
            before = now
            now, parent = _least(values, ties)
        return now, before, root, parent

    def _phase(self, state: ClearState, phase: Phase) -> ClearState:
        size = self.shape.size
        now, before, root, parent = self._paths(state, phase)
        order = np.lexsort((self._ties(phase.number, ORDER, 1, size)[0], now))
        falling = now[now < before]
        cap = falling.min() if len(falling) else now.max()
        prices = state.prices + np.minimum(now, cap)
        profits, _ = _least(self.costs - prices, self._ties(phase.number, PROFITS, size, size))
        reached = now <= cap
        row_of, column_of = state.row_of, state.column_of.copy()
        tree = self._roots(reached, root, parent)
        served: dict[int, int] = {}
        for column in order:
            if row_of[column] == _NOBODY and reached[column]:
                served.setdefault(int(tree[column]), int(column))
        served = {row: column for row, column in served.items() if state.column_of[row] == _NOBODY}
        for column in served.values():
            self._take(column, root, parent, row_of, column_of)
        waiting = (state.column_of == _NOBODY) & ~np.isin(np.arange(size), list(served))
        return ClearState(column_of, prices, profits, reached & waiting[tree], state.first)

    def _roots(self, reached: NDArray[np.bool_], root: Indices, parent: Indices | None) -> Indices:
        """The root of each reached column; of the others any row."""
        size = self.shape.size
        if parent is None:
            return root
        tree = np.zeros(size, dtype=np.intp)
        for column in np.flatnonzero(reached):
            at, steps = column, 0
            while parent[at] < size and steps <= size:
                at, steps = parent[at], steps + 1
            tree[column] = root[at]
        return tree

    def _take(
        self,
        column: int,
        root: Indices,
        parent: Indices | None,
        row_of: Indices,
        column_of: Indices,
    ) -> None:
        """Take the path that ends in a free column: each column gets its parent's row."""
        size = self.shape.size
        while parent is not None and parent[column] < size:
            above = int(parent[column])
            column_of[row_of[above]] = column
            column = above
        column_of[root[column]] = column
