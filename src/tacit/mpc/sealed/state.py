"""The secret state of a search at one node: each parent's table, and the best plans so far.

Line a of a table belongs to the item that is now at position a: its value to each row (a tour: the
value of the legs from it to the items at all positions), and last its id. A plan is its value
followed by its ids. Everything is shared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.shares import ArithmeticShare


@dataclass(frozen=True, slots=True)
class SealedState:
    """What a node carries from one generation to the next."""

    table: ArithmeticShare
    """Parents x positions x (rows and the id)."""
    best: ArithmeticShare
    """The best plan of each parent, as it was before the last generation."""
    plan: ArithmeticShare
    """The best of all, which may be opened."""


def as_plans(table: ArithmeticShare, shape: TableShape, /) -> ArithmeticShare:
    """Shares of each parent's value and ids: sums of cells, without communication."""
    return table.map(lambda part: _plans(part, shape))


def _plans(component: NDArray[Any], shape: TableShape) -> NDArray[Any]:
    at = np.arange(shape.rows)
    cells = component[:, at, (at + shape.is_tour) % shape.rows]
    totals = cells.sum(axis=1, keepdims=True, dtype=component.dtype)
    return np.concatenate([totals, component[:, : shape.rows, -1]], axis=1)
