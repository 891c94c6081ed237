"""The secret state of a search at one node: each parent's table, and the best plans so far.

Line a of a table belongs to the place that is now at position a of the tour: the values of the legs
from it to the places at all positions, and last its id. A plan is its value followed by its ids.
Everything is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.protocols.loss import Size
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.shares import ArithmeticShare


@dataclass(frozen=True, slots=True)
class SealedState:
    """What a node carries from one generation to the next."""

    table: ArithmeticShare
    """Parents x positions x (positions and the id)."""
    best: ArithmeticShare
    """The best plan of each parent, as it was before the last generation."""
    plan: ArithmeticShare
    """The best of all, which may be opened."""

    @property
    def shares(self) -> list[ArithmeticShare]:
        """All of it, in the order of `state_sizes`."""
        return [self.table, self.best, self.plan]


def state_sizes(shape: TableShape, /) -> list[Size]:
    """The sizes of what a state is made of.

    >>> shape = TableShape(places=5, key_bits=9, total_bits=9, parents=2)
    >>> [size for size, _ in state_sizes(shape)]
    [(2, 5, 6), (2, 6), (6,)]
    """
    line, parents = shape.places + 1, shape.parents
    sizes = [(parents, shape.places, line), (parents, line), (line,)]
    return [(size, shape.word) for size in sizes]


def as_plans(table: ArithmeticShare, shape: TableShape, /) -> ArithmeticShare:
    """Shares of each parent's value and ids: sums of cells, without communication."""
    return table.map(lambda part: _plans(part, shape))


def _plans(component: NDArray[Any], shape: TableShape) -> NDArray[Any]:
    at = np.arange(shape.places)
    cells = component[:, at, (at + 1) % shape.places]
    totals = cells.sum(axis=1, keepdims=True, dtype=component.dtype)
    return np.concatenate([totals, component[:, :, -1]], axis=1)
