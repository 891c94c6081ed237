"""Assignment over the integers: the specification of the protocol, which gives the same.

The tie-breaks are the same public numbers, so the matching, the prices and the parents after every
iteration are equal to those on shares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.ties import PROOF, Ties
from tacit.mpc.sealed.moves import Step

Numbers = NDArray[np.int64]
Indices = NDArray[np.intp]


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


@dataclass(frozen=True, slots=True)
class ClearAssignment:
    """Square costs and the tie-breaks of one weighting.

    >>> run = ClearAssignment(np.array([[7, 1], [2, 3]]), Ties(1))
    >>> run.advance(run.start([0, 1]), 2).column_of
    array([1, 0])
    """

    costs: Numbers
    ties: Ties
    lag: int = 0

    def start(self, column_of: Sequence[int] | Indices) -> ClearState:
        """Return the state before the first iteration, from the column of each row."""
        index = np.arange(len(self.costs))
        return ClearState(np.argsort(column_of), self.costs.min(axis=0), index, 0)

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
        least, _ = self._step(state, PROOF)
        return int((state.prices - least).sum())

    def total(self, state: ClearState) -> int:
        """Return what a state's plan costs."""
        return int(self.costs[state.row_of, np.arange(len(self.costs))].sum())

    def _step(self, state: ClearState, number: int) -> tuple[Numbers, Indices]:
        """Return the next prices, and the column from which each of them comes."""
        size, rows = len(self.costs), self.costs[state.row_of]
        candidates = (rows + (state.prices - np.diagonal(rows))[:, None]).T
        least = candidates.min(axis=1)
        ties = self.ties.own_first(number, size)[0]
        return least, np.where(candidates == least[:, None], ties, size + 1).argmin(axis=1)

    def _iterate(self, state: ClearState) -> ClearState:
        index, number = np.arange(len(self.costs)), state.step + 1
        prices, source = self._step(state, number)
        # A column prefers itself among equals, so its source is another one only if its price fell.
        parents = np.where(source == index, state.parents, source)
        used = state.parents if self.lag else parents
        moved = on_cycles(used)
        row_of = np.where(moved, state.row_of[used], state.row_of)
        # What holds of an edge rests on the row of the parent, so only that end counts.
        parents = np.where(moved[parents], index, parents)
        return ClearState(row_of, prices, parents, number)
