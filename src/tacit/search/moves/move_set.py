"""The children of one generation: public permutations of the parents' positions.

Positions are grouped in disjoint blocks. A block's children permute its positions, and child 0 is
the parent itself. The gain of a child over the parent is a sum of cells of the secret table, some
added and some subtracted; nothing but the table is secret. Several parents are stacked, so that
positions and cells are numbered through all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class MoveSet:
    """All children of a generation.

    A child is numbered block * children + its number in the block. `moved_child[e]` puts at
    `moved_to[e]` what was at `moved_from[e]`; both count positions inside the block.

    >>> swap = MoveSet(positions=np.array([[4, 7]]), children=2, plus=np.array([[0], [5]]),
    ...                minus=np.array([[0], [6]]), moved_child=np.array([1, 1]),
    ...                moved_to=np.array([0, 1]), moved_from=np.array([1, 0]))
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
    """Cells that it subtracts; one line for all where they are the same."""
    moved_child: Indices
    moved_to: Indices
    moved_from: Indices

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self.positions)

    def gains(self, table: NDArray[np.int64], /) -> NDArray[np.int64]:
        """The gain of each child over the parent, blocks x children, from a table in the clear.

        >>> table = np.array([[1, 2], [5, 9]])
        >>> MoveSet(np.array([[0, 1]]), 2, np.array([[0], [1]]), np.array([[0], [0]]),
        ...         *(np.zeros(0, dtype=np.intp),) * 3).gains(table)
        array([[0, 1]])
        """
        flat = table.reshape(-1)
        gain = flat[self.plus].sum(axis=1) - flat[self.minus].sum(axis=1)
        result: NDArray[np.int64] = gain.reshape(self.blocks, self.children)
        return result

    def chosen(self, winners: Indices, /) -> tuple[Indices, Indices]:
        """Which positions get the content of which, if these children win in their blocks."""
        is_chosen = np.zeros(self.blocks * self.children, dtype=np.bool_)
        is_chosen[np.arange(self.blocks) * self.children + winners] = True
        entries = is_chosen[self.moved_child]
        block = self.moved_child[entries] // self.children
        to = self.positions[block, self.moved_to[entries]]
        return to, self.positions[block, self.moved_from[entries]]


def of_all_parents(sets: Sequence[MoveSet], /, *, lines: int, width: int) -> MoveSet:
    """The children of several parents, whose tables of this many lines are stacked."""
    if len(sets) == 1:
        return sets[0]
    minus = [np.broadcast_to(each.minus, each.plus.shape) for each in sets]
    cells = lines * width
    return MoveSet(
        positions=_counted_on([each.positions for each in sets], lines),
        children=sets[0].children,
        plus=_counted_on([each.plus for each in sets], cells),
        minus=_counted_on(minus, cells),
        moved_child=_counted_on(
            [each.moved_child for each in sets], sets[0].blocks * sets[0].children
        ),
        moved_to=np.concatenate([each.moved_to for each in sets]),
        moved_from=np.concatenate([each.moved_from for each in sets]),
    )


def _counted_on(parts: Sequence[Indices], step: int) -> Indices:
    return np.concatenate([part + k * step for k, part in enumerate(parts)])
