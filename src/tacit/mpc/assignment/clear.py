"""Assignment over the integers: the specification of the protocol, which gives the same.

The tie-breaks are the same public numbers, so the matching, the prices and the parents after every
iteration are equal to those on shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.layout import AssignmentShape, Indices
from tacit.mpc.assignment.minima import Ties
from tacit.mpc.sealed.moves import Step

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ClearState:
    """The state of one weighting."""

    row_of: Indices
    """The row of each column."""
    prices: Numbers
    parents: Indices
    """The parent of each column, or the column itself where it has none."""
    step: int

    @property
    def column_of(self) -> Indices:
        """The column of each row."""
        return np.argsort(self.row_of)


def on_cycles(parents: Indices) -> NDArray[np.bool_]:
    """Return which columns are on a cycle of parents; being one's own parent is none.

    >>> on_cycles(np.array([1, 0, 0, 3]))
    array([ True,  True, False, False])
    """
    after = parents
    for _ in range(len(parents).bit_length()):
        after = after[after]
    found = np.zeros(len(parents), dtype=bool)
    found[after] = True
    found &= parents != np.arange(len(parents))
    return found


@dataclass(frozen=True)
class ClearAssignment:
    """Square costs and the tie-breaks of one weighting.

    >>> run = ClearAssignment(np.array([[7, 1], [2, 3]]), Ties(1))
    >>> run.advance(run.start([0, 1]), 2).column_of
    array([1, 0])
    """

    costs: Numbers
    ties: Ties
    lag: int = 0
    allowed: NDArray[np.bool_] | None = None
    """Columns x rows; None where all pairs are."""

    @cached_property
    def _shape(self) -> AssignmentShape:
        return AssignmentShape(len(self.costs), 0, allowed=self.allowed)

    def start(self, column_of: Sequence[int] | Indices) -> ClearState:
        """Return the state before the first iteration, from the column of each row."""
        least, _ = self._least(self.costs.T)
        return ClearState(np.argsort(column_of), least, np.arange(len(least)), 0)

    def descend(self, state: ClearState, steps: Iterable[Step]) -> ClearState:
        """Return the state after these generations of block descent."""
        column_of, number = state.column_of, state.step
        for step in steps:
            number += 1
            moves = step.moves
            at = moves.positions
            # The cost of each place of a block to each row of it.
            flat = self.costs[at[:, None], column_of[at][:, :, None]].reshape(-1)
            change = flat[moves.plus].sum(axis=1) - flat[moves.minus].sum(axis=1)
            keys = change * step.factor + step.offsets
            winners = keys.reshape(-1, moves.children).argmin(axis=1)
            chosen = np.arange(len(winners)) * moves.children + winners
            runs = np.isin(moves.runs.child, chosen)
            block = moves.runs.child[runs] // moves.children
            to = at[block, moves.runs.to[runs]]
            column_of[to] = column_of[at[block, moves.runs.source[runs]]]
        return replace(state, row_of=np.argsort(column_of), step=number)

    def advance(self, state: ClearState, iterations: int) -> ClearState:
        """Return the state after so many iterations."""
        for _ in range(iterations):
            state = self._iterate(state)
        return state

    def gap(self, state: ClearState) -> int:
        """Return by how much a state's plan may cost more than the optimum; 0 proves it."""
        least, _ = self._least(self._offers(state))
        return int((state.prices - least).sum())

    def total(self, state: ClearState) -> int:
        """Return what a state's plan costs."""
        return int(self.costs[state.row_of, np.arange(len(self.costs))].sum())

    def _offers(self, state: ClearState) -> Numbers:
        """Return what each row costs on each column, less what it pays: columns x rows."""
        column_of = state.column_of
        paid = self.costs[np.arange(len(self.costs)), column_of] - state.prices[column_of]
        offered: Numbers = self.costs.T - paid
        return offered

    def _least(self, offered: Numbers, number: int | None = None) -> tuple[Numbers, Indices]:
        """Return the least offer of an allowed row to each column, and by tie-breaks the row."""
        if self.allowed is not None:
            offered = np.where(self.allowed, offered, np.iinfo(np.int64).max)
        least = offered.min(axis=1)
        if number is None:
            return least, least
        shape, size = self._shape, len(self.costs)
        ties = shape.placed(self.ties.drawn(number, shape)[:1])[0]
        return least, np.where(offered == least[:, None], ties, size).argmin(axis=1)

    def _step(self, state: ClearState, number: int) -> tuple[Numbers, Indices]:
        """Return the next prices, and each column's parent: the holder of the row, if they fell."""
        least, row = self._least(self._offers(state), number)
        fell = least < state.prices
        parents = np.where(fell, state.column_of[row], state.parents)
        return np.minimum(least, state.prices), parents

    def _iterate(self, state: ClearState) -> ClearState:
        index, number = np.arange(len(self.costs)), state.step + 1
        prices, parents = self._step(state, number)
        used = state.parents if self.lag else parents
        moved = on_cycles(used)
        row_of = np.where(moved, state.row_of[used], state.row_of)
        # What holds of an edge rests on the row of the parent, so only that end counts.
        parents = np.where(moved[parents], index, parents)
        return ClearState(row_of, prices, parents, number)
