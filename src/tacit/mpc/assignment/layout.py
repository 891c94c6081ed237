"""A problem as a square table of costs, and a plan from a matching; all of it is public.

*Capacities*: a column with capacity c stands c times. *Imbalanced*: rows without costs are added
until there are as many as columns. *Forbidden pairs* cost more than any plan without one, so the
optimum has one only if every plan has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.mpc.assignment.minima import public
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare


@dataclass(frozen=True)
class Layout:
    """Rows and columns of a problem in a square.

    >>> Layout(rows=2, columns=(0, 1, 1), spread=9).size
    3
    """

    rows: int
    columns: Sequence[int]
    """The column that each place stands for: one with capacity 2 stands twice."""
    spread: int
    """The largest cost that is not forbidden minus the smallest, by agreed bounds."""
    forbidden: NDArray[np.bool_] | None = None
    """Rows x columns of the problem."""

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
    def is_restricted(self) -> bool:
        """Whether a pair is forbidden."""
        return self.forbidden is not None and bool(self.forbidden.any())

    @property
    def penalty(self) -> int:
        """The cost of a forbidden pair: more than any plan without one costs."""
        return self.rows * self.spread + 1

    @property
    def widest(self) -> int:
        """The largest cost in the square."""
        return self.penalty if self.is_restricted else self.spread

    def shape(self, *, weightings: int = 1, descent_bits: int = 0) -> AssignmentShape:
        """Return the sizes and bounds of the square."""
        return AssignmentShape(self.size, self.widest, weightings, descent_bits)

    @cached_property
    def forbidden_cells(self) -> NDArray[np.bool_]:
        """Rows x columns of the square."""
        cells = np.zeros((self.size, self.size), dtype=bool)
        if self.forbidden is not None:
            cells[: self.rows] = self.forbidden[:, list(self.columns)]
        return cells

    def costs(
        self,
        weights: ArithmeticShare,
        bounds: Sequence[tuple[int, int]],
        shape: AssignmentShape,
        *,
        maximize: bool = False,
    ) -> ArithmeticShare:
        """Return shares of the square of costs, from weightings x rows x columns; no message.

        `bounds` are the least and the largest weight of each weighting.
        """
        least, largest = to_ring(np.array(bounds, dtype=np.int64)).reshape(-1, 2).T
        signed = weights.map(np.negative) if maximize else weights
        offset = largest if maximize else np.negative(least)
        costs = signed.add_public(offset[:, None, None]).map(self._placed)
        high = self.forbidden_cells * public(self.penalty, shape.word)
        return costs.map(lambda part: part.astype(shape.word)).add_public(high.astype(shape.word))

    def _placed(self, part: NDArray[Any]) -> NDArray[Any]:
        """Return one component in the square, with zero where the costs are public."""
        table = np.zeros((len(part), self.size, self.size), dtype=part.dtype)
        table[:, : self.rows] = part[:, :, list(self.columns)]
        table[:, self.forbidden_cells] = 0
        return table

    def plan_of(self, matching: NDArray[Any]) -> NDArray[Any]:
        """Return the column of each row, from a matching (or a component): columns x rows."""
        names = np.array(self.columns).astype(matching.dtype)
        rows_first = matching.swapaxes(1, 2)[:, : self.rows]
        plan: NDArray[Any] = (rows_first * names).sum(axis=2, dtype=matching.dtype)
        return plan
