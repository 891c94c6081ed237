"""The public part of a generation, as the protocols take it; the search schedule provides it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.integer[Any]]


class Runs(Protocol):
    """Runs of neighbouring positions of a block, filled with what was in others; one per entry."""

    @property
    def child(self) -> Indices:
        """The child that moves them."""
        ...

    @property
    def to(self) -> Indices:
        """The first position, counted inside the block."""
        ...

    @property
    def source(self) -> Indices:
        """Where what is there comes from."""
        ...

    @property
    def length(self) -> Indices:
        """How many positions."""
        ...

    @property
    def step(self) -> Indices:
        """1, or -1 where they are filled from a run that is read backwards."""
        ...


class Moves(Protocol):
    """The children of all blocks: which positions they permute, and which cells give their gain.

    A child is numbered block * children + its number in the block, and its number 0 is the parent.
    """

    @property
    def positions(self) -> Indices:
        """Blocks x positions, all different."""
        ...

    @property
    def children(self) -> int:
        """Per block, the parent among them."""
        ...

    @property
    def plus(self) -> Indices:
        """Cells of the table, counted row by row, that a child's gain adds; a line per child."""
        ...

    @property
    def minus(self) -> Indices:
        """Cells that it subtracts."""
        ...

    @property
    def turns(self) -> Indices:
        """Pairs of cells whose differences, added up, make more cells behind those of the table."""
        ...

    @property
    def runs(self) -> Runs:
        """What moves where."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One generation: the children and the public part of their keys.

    A child's key is its gain times `factor` plus its offset; no two of a block are equal, and
    they differ by less than 2^(bits - 1).
    """

    moves: Moves
    offsets: NDArray[np.int64]
    factor: int
    bits: int
    parent_pairs: Indices = field(default_factory=lambda: np.zeros((0, 2), dtype=np.intp))
    """Pairs of parents; both continue from the one that was better before this generation."""


@dataclass(frozen=True, slots=True)
class TableShape:
    """The public shape of the secret tables, one per parent.

    Each has a line and a column for each place, and a column of ids. `total_bits` hold a signed
    difference of two plans' values, `key_bits` one of two keys of a step. Winners are found in
    `levels`.

    >>> TableShape(places=5, key_bits=20, total_bits=17).word
    dtype('uint32')
    """

    places: int
    key_bits: int
    total_bits: int
    parents: int = 1
    levels: int = 1

    @property
    def tie_bits(self) -> int:
        """The bits that break ties among the plans of which the best is opened: two per parent."""
        return (2 * self.parents - 1).bit_length()

    @property
    def settle_bits(self) -> int:
        """The bits of a signed difference of two values with their tie-breaks."""
        return self.total_bits + self.tie_bits

    @property
    def word(self) -> np.dtype[Any]:
        """The word of the table's ring: 32 bits where they hold everything that is compared."""
        needed = max(self.key_bits, self.settle_bits, self.places.bit_length())
        return np.dtype(np.uint64 if needed > 32 else np.uint32)
