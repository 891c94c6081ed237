"""A problem as a square of costs with its public sizes and bounds, and a plan from a matching.

*Capacities*: a column with capacity c stands c times. *Imbalanced*: rows without costs are added
until there are as many as columns. *Forbidden pairs* are no candidates: no iteration ever reads
their costs. A descent, which reads whole blocks, finds them to cost more than any plan without one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare

Indices = NDArray[np.intp]
STEPS_PER_PLACE = 4
"""Iterations per place that bounds allow for where no number of them is given."""


def public(value: int, word: np.dtype[Any]) -> NDArray[Any]:
    """Return a public number of any sign as a word of the ring."""
    return np.array([value % (1 << 8 * word.itemsize)], dtype=word)


@dataclass(frozen=True)
class AssignmentShape:
    """The size of the square problem, its allowed pairs, and the range of its costs; all public.

    Let C be the largest cost minus the smallest, and a_i what row i pays. A step sets v_j to the
    least of C_ij - a_i over the allowed rows. If all rows are allowed, prices are within C of each
    other whatever the matching is, and the candidates of one column within 3 C. With forbidden
    pairs that fails, but the least price falls by at most C in a step: after t steps prices are
    within (t + 1) C, and candidates of the next one within (t + 3) C. So the most iterations are
    part of the shape. Comparisons of keys, and the sums of the proof, are right only if these
    bounds fit the ring: an overflow would make what is opened depend on the costs.

    >>> shape = AssignmentShape(100, spread=1000)
    >>> shape.key_bits, shape.word
    (20, dtype('uint32'))
    >>> AssignmentShape(150, spread=100_000, allowed=np.eye(150, dtype=bool)).word
    dtype('uint64')
    """

    size: int
    """Rows, and as many columns."""
    spread: int
    """The largest cost of an allowed pair minus the smallest."""
    weightings: int = 1
    descent_bits: int = 0
    """Bits of the keys of a descent, which are of the same ring; none without a descent."""
    iterations: int = 0
    """The most that there may be; 0 for 4 per place. Counts only where pairs are forbidden."""
    allowed: NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    """Columns x rows; None where all pairs are."""

    def __post_init__(self) -> None:
        if self.size < 1 or self.spread < 0 or self.weightings < 1:
            raise ParameterError("an assignment needs at least 1 row and 1 weighting")
        if not self._fits(64):
            raise ParameterError(
                f"costs that differ by {self.spread:,} in {self.size} rows do not fit words of "
                "64 bits; give smaller costs or fewer decimals"
            )

    @cached_property
    def rows_of(self) -> Indices:
        """How many rows are allowed for each column."""
        if self.allowed is None:
            return np.full(self.size, self.size)
        return np.asarray(self.allowed.sum(axis=1, dtype=np.intp))

    @property
    def pairs(self) -> int:
        """How many pairs are allowed; where they are in a line, they go column by column."""
        return int(self.rows_of.sum())

    @property
    def starts(self) -> Indices:
        """Where the pairs of each column begin."""
        starts: Indices = np.cumsum(self.rows_of) - self.rows_of
        return starts

    def groups(self, *, own: bool) -> tuple[int, ...]:
        """Return how many candidates each column of each weighting has: rows, and its own price."""
        return tuple(int(rows) + own for rows in self.rows_of) * self.weightings

    @property
    def widest(self) -> int:
        """The largest difference of two candidates of one column, and the largest reduced cost."""
        if self.allowed is None:
            return 3 * self.spread
        return ((self.iterations or STEPS_PER_PLACE * self.size) + 3) * self.spread

    @property
    def tie_bits(self) -> int:
        """Bits of the public number that makes the keys of a group distinct."""
        most = self.size if self.allowed is None else int(self.rows_of.max())
        return most.bit_length()

    @property
    def key_bits(self) -> int:
        """Bits of a signed difference of two keys."""
        return 1 + self.tie_bits + self.widest.bit_length()

    @cached_property
    def word(self) -> np.dtype[Any]:
        """The word of the ring: 32 bits where they hold every number of the computation."""
        return np.dtype(np.uint32 if self._fits(32) else np.uint64)

    @property
    def square(self) -> tuple[int, int, int]:
        """The shape of a table: a matrix for each weighting."""
        return self.weightings, self.size, self.size

    def placed(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Return a table, columns x rows, with these entries of allowed pairs and 0 elsewhere."""
        if self.allowed is None:
            return cells.reshape(self.square)
        table = np.zeros(self.square, dtype=cells.dtype)
        table[:, self.allowed] = cells
        return table

    def taken(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return the entries of allowed pairs of a table, columns x rows."""
        if self.allowed is None:
            return table.reshape(len(table), -1)
        entries: NDArray[Any] = table[:, self.allowed]
        return entries

    def _fits(self, bits: int) -> bool:
        # The proof adds up n reduced costs of at most `widest` and compares them with costs of at
        # most C: both sides must stay below half the ring to be equal as integers.
        sums = self.size * (self.widest + self.spread + 1)
        return max(self.key_bits, self.descent_bits) <= bits and sums < 1 << (bits - 1)


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
        """The cost of a forbidden pair in a descent: more than any plan without one costs."""
        return self.rows * self.spread + 1

    @property
    def widest(self) -> int:
        """The largest cost in the square."""
        return self.penalty if self.is_restricted else self.spread

    @cached_property
    def forbidden_cells(self) -> NDArray[np.bool_]:
        """Rows x columns of the square."""
        cells = np.zeros((self.size, self.size), dtype=bool)
        if self.forbidden is not None:
            cells[: self.rows] = self.forbidden[:, list(self.columns)]
        return cells

    @property
    def allowed(self) -> NDArray[np.bool_] | None:
        """Columns x rows of the square; None where all pairs are."""
        return ~self.forbidden_cells.T if self.is_restricted else None

    def shape(
        self, *, weightings: int = 1, descent_bits: int = 0, iterations: int = 0
    ) -> AssignmentShape:
        """Return the sizes and bounds of the square."""
        return AssignmentShape(
            self.size, self.spread, weightings, descent_bits, iterations, self.allowed
        )

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
