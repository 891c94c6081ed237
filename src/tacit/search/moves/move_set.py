"""The children of one generation: public permutations of the parents' positions.

Positions are grouped in disjoint blocks. A block's children permute its positions, and child 0 is
the parent itself. The gain of a child over the parent is a sum of cells of the secret table, some
added and some subtracted; nothing but the table is secret. Several parents are stacked, so that
positions and cells are numbered through all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class PositionRuns:
    """Each: a child fills `length` positions from `to` on with what was from `source` on.

    The source goes on by `step`, 1 or -1. Positions are counted inside the child's block.

    >>> turned = PositionRuns(*(np.array([k]) for k in (7, 2, 4, 3, -1)))
    >>> [each.tolist() for each in turned.expanded()]
    [[7, 7, 7], [2, 3, 4], [4, 3, 2]]
    """

    child: Indices
    to: Indices
    source: Indices
    length: Indices
    step: Indices

    @classmethod
    def single(
        cls,
        child: Indices | Sequence[int],
        to: Indices | Sequence[int],
        source: Indices | Sequence[int],
    ) -> PositionRuns:
        """PositionRuns of one position each."""
        ones = np.ones(len(child), dtype=np.intp)
        first, second, third = (np.asarray(each, dtype=np.intp) for each in (child, to, source))
        return cls(first, second, third, ones, ones)

    def __getitem__(self, which: NDArray[np.bool_]) -> PositionRuns:
        every = (self.child, self.to, self.source, self.length, self.step)
        return PositionRuns(*(each[which] for each in every))

    def expanded(self) -> tuple[Indices, Indices, Indices]:
        """Child, new position and old position of everything that moves."""
        run = np.repeat(np.arange(len(self.child)), self.length)
        begins = np.cumsum(self.length) - self.length
        along = np.arange(len(run)) - begins[run]
        return self.child[run], self.to[run] + along, self.source[run] + self.step[run] * along


@dataclass(frozen=True, eq=False)
class MoveSet:
    """All children of a generation.

    A child is numbered block * children + its number in the block.

    >>> swap = MoveSet(positions=np.array([[4, 7]]), children=2, plus=np.array([[0], [5]]),
    ...                minus=np.array([[0], [6]]), runs=PositionRuns.single([1, 1], [0, 1], [1, 0]))
    >>> to, source = swap.chosen(np.array([1]))
    >>> to, source
    (array([4, 7]), array([7, 4]))
    """

    positions: Indices
    """Blocks x positions."""
    children: int
    """Per block, the parent among them."""
    plus: Indices
    """Cells of the table, counted row by row, that a child's gain adds; one line per child."""
    minus: Indices
    """Cells that it subtracts."""
    runs: PositionRuns
    """What moves where, inside the block."""
    turns: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    """Directed tours: along each parent's arc the cell of each leg, and of the leg back.

    They make more cells, numbered behind those of the tables: one per leg, with what all legs up to
    it, this one not included, gain when they are turned.
    """

    @property
    def blocks(self) -> int:
        return len(self.positions)

    def gains(self, table: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The gain of each child over the parent, blocks x children, from a table in the clear.

        >>> table = np.array([[1, 2], [5, 9]])
        >>> MoveSet(np.array([[0, 1]]), 2, np.array([[0], [1]]), np.array([[0], [0]]),
        ...         PositionRuns.single([], [], [])).gains(table)
        array([[0, 1]])
        """
        flat = self.with_turns(table.reshape(-1))
        gain = flat[self.plus].sum(axis=1) - flat[self.minus].sum(axis=1)
        result: NDArray[np.int64] = gain.reshape(self.blocks, self.children)
        return result

    def with_turns(self, flat: NDArray[np.int64], /) -> NDArray[np.int64]:
        """All cells in a line, those of the turns behind the others."""
        if not len(self.turns):
            return flat
        legs, back = self.turns.T
        sums = np.cumsum(flat[back] - flat[legs])
        return np.concatenate([flat, [0], sums])

    def chosen(self, winners: Indices, /) -> tuple[Indices, Indices]:
        """Which positions get the content of which, if these children win in their blocks."""
        is_chosen = np.zeros(self.blocks * self.children, dtype=np.bool_)
        is_chosen[np.arange(self.blocks) * self.children + winners] = True
        child, to, source = self.runs[is_chosen[self.runs.child]].expanded()
        block = child // self.children
        return self.positions[block, to], self.positions[block, source]
