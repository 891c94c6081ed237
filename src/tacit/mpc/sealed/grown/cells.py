"""The allowed pairs of a square problem, and what follows from them: all of it public.

With S the largest cost, prices are at most S and so are reduced costs. A distance is at most
`far`, 2 S + 2; what it is the least of is at most far + S + 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.mpc.protocols.tournament import levels_for, tournament

Indices = NDArray[np.intp]
Numbers = NDArray[Any]
ALL_PAIRS = 24
"""Up to so many candidates are compared pair by pair, in the fewest rounds."""
LONGEST = 8
"""Steps of a sweep; longer ones find better paths, and take longer."""


@dataclass(frozen=True, eq=False)
class AllowedCells:
    """Cells are numbered column by column, and in a column row by row.

    >>> cells = AllowedCells(np.array([[True, False], [True, True]]), 9)
    >>> cells.columns.tolist(), cells.rows.tolist()
    ([0, 0, 1], [0, 1, 1])
    >>> cells.key_bits, cells.sweeps
    (8, (2,))
    """

    allowed: NDArray[np.bool_]
    """Rows x columns."""
    spread: int
    """The largest cost of an allowed pair; the smallest is 0."""

    def __post_init__(self) -> None:
        rows, columns = self.allowed.shape
        if rows != columns or not self.allowed.any(axis=1).all():
            raise ParameterError("a grown start takes as many rows as columns, none without a pair")
        if self._bits > 64:
            raise ParameterError(f"costs up to {self.spread:,} need {self._bits} bits, not 64")

    @property
    def _bits(self) -> int:
        return max(self.key_bits, self.total_bits)

    @property
    def word(self) -> np.dtype[Any]:
        """The word of the ring: 32 bits where they hold all that is compared."""
        return np.dtype(np.uint32 if self._bits <= 32 else np.uint64)

    @property
    def size(self) -> int:
        """Rows, and columns."""
        return len(self.allowed)

    @cached_property
    def columns(self) -> Indices:
        """The column of each cell."""
        return np.nonzero(self.allowed.T)[0]

    @cached_property
    def rows(self) -> Indices:
        """The row of each cell."""
        return np.nonzero(self.allowed.T)[1]

    @cached_property
    def by_row(self) -> Indices:
        """The cells row by row."""
        return np.lexsort((self.columns, self.rows))

    @cached_property
    def row_sizes(self) -> tuple[int, ...]:
        """How many cells each row has."""
        return tuple(int(count) for count in self.allowed.sum(axis=1))

    @cached_property
    def group_sizes(self) -> tuple[int, ...]:
        """Of each column its cells, and last a public number."""
        return tuple(int(count) + 1 for count in self.allowed.sum(axis=0))

    @cached_property
    def group_ties(self) -> Indices:
        """Of equal candidates of a column the first wins."""
        return numbers_in_groups(self.group_sizes)

    @cached_property
    def places(self) -> Indices:
        """Where each cell stands in the groups of the columns."""
        return np.arange(len(self.columns)) + self.columns

    def grouped(self, of_cells: Numbers) -> Numbers:
        """Groups of the columns, with 0 for the public number."""
        groups = np.zeros(sum(self.group_sizes), dtype=of_cells.dtype)
        groups[self.places] = of_cells
        return groups

    @cached_property
    def ends(self) -> NDArray[np.uint64]:
        """1 at the public number of each group."""
        last = np.ones(sum(self.group_sizes), dtype=np.uint64)
        last[self.places] = 0
        return last

    def sums_of_rows(self, of_cells: Numbers) -> Numbers:
        """The sum of each row's cells."""
        sums = np.zeros(self.size, dtype=of_cells.dtype)
        np.add.at(sums, self.rows, of_cells)
        return sums

    def odd_lines(self, lines: Indices, of_cells: Numbers) -> Numbers:
        """The XOR of the cells of each row, or column."""
        bits = np.zeros(self.size, dtype=of_cells.dtype)
        np.bitwise_xor.at(bits, lines, of_cells)
        return bits

    def square(self, of_cells: Numbers) -> Numbers:
        """One matrix, columns x rows, with 0 where a pair is forbidden."""
        table = np.zeros((1, self.size, self.size), dtype=of_cells.dtype)
        table[0, self.columns, self.rows] = of_cells
        return table

    @property
    def far(self) -> int:
        """A distance so large that nothing beyond counts."""
        return 2 * self.spread + 2

    @property
    def _most(self) -> int:
        return max(*self.row_sizes, *self.group_sizes)

    @property
    def tie_bits(self) -> int:
        """The bits of a number in a group."""
        return (self._most - 1).bit_length()

    @property
    def key_bits(self) -> int:
        """The bits of a signed difference of two candidates."""
        return 1 + self.tie_bits + (self.far + self.spread + 1).bit_length()

    @property
    def levels(self) -> int:
        """In which the least candidate is found."""
        return 1 if self._most <= ALL_PAIRS else levels_for(self._most)

    @cached_property
    def largest_message(self) -> int:
        """Bytes of all candidates with their values, or of one bit per bit of a comparison."""
        words = 2 * sum(self.group_sizes) * self.word.itemsize
        pairs = max(
            level.pairs
            for sizes in (self.group_sizes, self.row_sizes)
            for level in tournament(sizes, self.levels)
        )
        return max(words, pairs * self.key_bits // 8)

    def depth(self, steps: int, /) -> int:
        """How many columns a path may have after so many steps: a power of 2.

        Most have as many as there are steps; the parent of one may have a longer path by then.

        >>> AllowedCells(np.eye(99, dtype=bool), 9).depth(6)
        16
        """
        return int(1 << (min(2 * steps, self.size) - 1).bit_length())

    @property
    def penalty(self) -> int:
        """What a free row costs: more than any plan."""
        return self.size * self.spread + 1

    @property
    def total_bits(self) -> int:
        """The bits of the difference of two totals."""
        return 1 + (self.size * self.penalty).bit_length()

    @property
    def sweeps(self) -> tuple[int, ...]:
        """The steps of each sweep. Each leaves half of the free rows or fewer: log2 of the size."""
        count = max(1, (self.size**2).bit_length() // 2)
        return tuple(min(number, LONGEST) for number in range(2, count + 2))


def numbers_in_groups(sizes: tuple[int, ...], /) -> Indices:
    """0, 1, ... in each group.

    >>> numbers_in_groups((2, 3))
    array([0, 1, 0, 1, 2])
    """
    return np.concatenate([np.arange(size) for size in sizes])
