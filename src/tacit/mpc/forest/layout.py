"""A problem as the square table that a forest takes, and its plan back: all of it public.

*Capacities*: a column with capacity c stands c times. *Imbalanced*: rows without costs are added
until there are as many as columns; the problem's columns then are the roots, that is, the forest's
rows, which takes a fifth of the phases. *Forbidden pairs* have a cost above that of any plan
without them, so the optimum has one only if every plan has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.mpc.forest.minima import public
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare

MOSTLY = 0.75
"""Of all pairs, where most are forbidden."""


@dataclass(frozen=True)
class Layout:
    """Rows and columns of a problem, in a square.

    >>> layout = Layout(rows=2, columns=(0, 1, 1), spread=9)
    >>> layout.size, layout.columns_are_roots
    (3, True)
    """

    rows: int
    columns: Sequence[int]
    """The column that each place stands for: one with capacity 2 stands twice."""
    spread: int
    """The largest cost that is not forbidden minus the smallest, by agreed bounds."""
    forbidden: NDArray[np.bool_] | None = None
    """Rows x columns as the problem counts them."""

    def __post_init__(self) -> None:
        if not 1 <= self.rows <= len(self.columns):
            raise ParameterError(
                f"{self.rows} rows do not fit {len(self.columns)} places; "
                "give at least as many places as rows"
            )

    @property
    def size(self) -> int:
        """Rows of the square, and columns."""
        return len(self.columns)

    @property
    def columns_are_roots(self) -> bool:
        """Whether the forest's rows are the problem's columns."""
        return self.rows < self.size

    @property
    def is_restricted(self) -> bool:
        """Whether a pair is forbidden."""
        return self.forbidden is not None and bool(self.forbidden.any())

    @property
    def is_sparse(self) -> bool:
        """Whether so few pairs are allowed that a search finds no good plans.

        >>> few = ~np.eye(5, dtype=bool)
        >>> Layout(5, range(5), 9, few).is_sparse, Layout(5, range(5), 9).is_sparse
        (True, False)
        """
        return self.forbidden is not None and bool(self.forbidden.mean() > MOSTLY)

    @property
    def penalty(self) -> int:
        """The cost of a forbidden pair: more than any plan without one costs."""
        return self.rows * self.spread + 1

    def shape(self, *, largest_epsilon: int = 1, weightings: int = 1) -> ForestShape:
        """The forest's shape."""
        spread = self.penalty if self.is_restricted else self.spread
        return ForestShape(self.size, spread, largest_epsilon, weightings)

    @cached_property
    def forbidden_cells(self) -> NDArray[np.bool_]:
        """Rows x columns of the forest."""
        cells = np.zeros((self.size, self.size), dtype=bool)
        if self.forbidden is not None:
            cells[: self.rows] = self.forbidden[:, list(self.columns)]
        return np.ascontiguousarray(cells.T) if self.columns_are_roots else cells

    def costs(
        self,
        weights: ArithmeticShare,
        bounds: Sequence[tuple[int, int]],
        shape: ForestShape,
        *,
        maximize: bool = False,
    ) -> ArithmeticShare:
        """Shares of the forest's scaled costs, from weightings x rows x columns; no message.

        `bounds` are the least and the largest weight of each weighting.
        """
        least, largest = to_ring(np.array(bounds, dtype=np.int64)).reshape(-1, 2).T
        signed = weights.map(np.negative) if maximize else weights
        offset = largest if maximize else np.negative(least)
        costs = signed.add_public(offset[:, None, None]).map(self._placed)
        scaled = costs.map(lambda part: part.astype(shape.word) * shape.word.type(shape.scale))
        high = self.forbidden_cells * public(shape.scale * self.penalty, shape.word)
        return scaled.add_public(high.astype(shape.word))

    def _placed(self, part: NDArray[Any]) -> NDArray[Any]:
        """One component in the square, with zero where the costs are public."""
        table = np.zeros((len(part), self.size, self.size), dtype=part.dtype)
        table[:, : self.rows] = part[:, :, list(self.columns)]
        if self.columns_are_roots:
            table = np.ascontiguousarray(table.swapaxes(1, 2))
        table[:, self.forbidden_cells] = 0
        return table

    def plan_of(self, matching: NDArray[Any]) -> NDArray[Any]:
        """The column of each row, from a matching (or a component of one): columns x rows."""
        rows_first = matching if self.columns_are_roots else matching.swapaxes(1, 2)
        names = np.array(self.columns).astype(matching.dtype)
        plan: NDArray[Any] = (rows_first[:, : self.rows] * names).sum(axis=2, dtype=matching.dtype)
        return plan
