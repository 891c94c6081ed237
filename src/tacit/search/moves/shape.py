"""The public shape of the table that a sealed search works on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class PublicShape:
    """The size of the table and the range of its cells, `low` to `low + spread`.

    >>> PublicShape("assignment", rows=2, columns=3, low=0, spread=9).width
    3
    """

    kind: str
    rows: int
    columns: int
    low: int
    spread: int
    symmetric: bool = False
    """Tours: whether a leg has the same value in both directions."""
    allowed_spread: int | None = None
    """The spread of the cells of allowed pairs, where others are forbidden."""

    @property
    def unit(self) -> int:
        """The unit of temperatures."""
        return self.spread if self.allowed_spread is None else self.allowed_spread

    @property
    def width(self) -> int:
        """Columns of the table, the one of the ids included."""
        return self.rows + 1

    @property
    def total_span(self) -> int:
        """The largest difference of two plans' values."""
        return self.rows * self.spread


def weighted_shape(
    kind: str,
    rows: int,
    columns: int,
    *,
    objectives: Iterable[tuple[int, int]],
    symmetric: bool = False,
    forbids: bool = False,
) -> PublicShape:
    """The shape of a weighted sum; `objectives` have a factor, negative for costs, and a bound.

    A forbidden pair has the value `low`: so little that any plan without one is better than any
    plan with one.

    >>> weighted_shape("assignment", 3, 3, objectives=[(2, 10), (-1, 5)])
    PublicShape(kind='assignment', rows=3, columns=3, low=-5, spread=25, symmetric=False, \
allowed_spread=None)
    >>> shape = weighted_shape("assignment", 3, 3, objectives=[(1, 9)], forbids=True)
    >>> shape.low, shape.spread, shape.unit
    (-31, 40, 9)
    """
    low = high = 0
    for factor, bound in objectives:
        low, high = low + min(0, factor * bound), high + max(0, factor * bound)
    if not forbids:
        return PublicShape(kind, rows, columns, low, high - low, symmetric)
    least = high - (rows + 1) * (high - low + 1)
    return PublicShape(kind, rows, columns, least, high - least, symmetric, high - low)
