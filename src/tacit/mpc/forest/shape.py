"""The public shape of a problem for the forest, and the bounds that follow from it.

With C the scaled spread of the costs, the spread of the prices is at most C, reduced costs are at
most 2 C and distances at most 2 C + epsilon (docs/protocols/sealed-forest.md). So what is compared
differs by at most 4 C + epsilon + 1, and by t bits more with tie-breaks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import ParameterError


@dataclass(frozen=True, slots=True)
class ForestShape:
    """How large the square problem is, and how far its costs can be apart.

    >>> shape = ForestShape(100, spread=1000)
    >>> shape.key_bits, shape.word
    (27, dtype('uint32'))
    """

    size: int
    """Rows, and as many columns."""
    spread: int
    """The largest cost minus the smallest, as whole numbers before they are scaled."""
    largest_epsilon: int = 1
    weightings: int = 1

    def __post_init__(self) -> None:
        if self.size < 1 or self.spread < 0 or self.weightings < 1:
            raise ParameterError("a forest needs at least 1 row, 1 weighting and costs that differ")
        if self.key_bits > 64:
            raise ParameterError(
                f"costs that differ by {self.spread:,} in {self.size} rows need keys of "
                f"{self.key_bits} bits; the ring has 64"
            )

    @property
    def scale(self) -> int:
        """By what costs are multiplied, so that an error of 1 per row is less than one unit."""
        return self.size + 1

    @property
    def bound(self) -> int:
        """The largest scaled cost minus the smallest."""
        return self.scale * self.spread

    @property
    def far(self) -> int:
        """More than any reduced cost: what puts a candidate out of the question."""
        return 2 * self.bound + 1

    @property
    def tie_bits(self) -> int:
        """The bits of a public number that tells the candidates of a group apart."""
        return self.size.bit_length()

    @property
    def key_bits(self) -> int:
        """The bits of a signed difference of two keys."""
        return 1 + self.tie_bits + (4 * self.bound + self.largest_epsilon + 1).bit_length()

    @property
    def word(self) -> np.dtype[Any]:
        """The word of the ring: 32 bits where they hold a key."""
        return np.dtype(np.uint32 if self.key_bits <= 32 else np.uint64)

    @property
    def square(self) -> tuple[int, int, int]:
        """The shape of a table: a matrix per weighting."""
        return self.weightings, self.size, self.size

    def sizes(self, candidates: int) -> tuple[int, ...]:
        """The sizes of groups, one for each column (or row) of each weighting."""
        return (candidates,) * (self.weightings * self.size)
