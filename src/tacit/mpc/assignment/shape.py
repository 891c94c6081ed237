"""Public sizes of an assignment on shares, and the bounds that follow from them.

Let C be the largest cost minus the smallest. A step sets v_j to the least of C_ij - a_i over the
rows i, where a_i does not depend on j. So prices are within C of each other whatever the matching
is, and the candidates v_k + C_ij - C_ik of one column are within 3 C. Comparisons of keys, and the
sums of the certificate, are right only if these bounds fit the ring: an overflow would make what
is opened depend on the costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import ParameterError


@dataclass(frozen=True, slots=True)
class AssignmentShape:
    """The size of the square problem and the range of its costs.

    >>> shape = AssignmentShape(100, spread=1000)
    >>> shape.key_bits, shape.word
    (20, dtype('uint32'))
    >>> AssignmentShape(150, spread=150 * 100_000).word  # with forbidden pairs
    dtype('uint64')
    """

    size: int
    """Rows, and as many columns."""
    spread: int
    """The largest cost minus the smallest."""
    weightings: int = 1
    descent_bits: int = 0
    """Bits of the keys of a descent, which are of the same ring; none without a descent."""

    def __post_init__(self) -> None:
        if self.size < 1 or self.spread < 0 or self.weightings < 1:
            raise ParameterError("an assignment needs at least 1 row and 1 weighting")
        if not self._fits(64):
            raise ParameterError(
                f"costs that differ by {self.spread:,} in {self.size} rows do not fit words of "
                "64 bits; give smaller costs or fewer decimals"
            )

    @property
    def widest(self) -> int:
        """The largest difference of two candidates of one column, and the largest reduced cost."""
        return 3 * self.spread

    @property
    def tie_bits(self) -> int:
        """Bits of the public number that makes the keys of a group distinct."""
        return self.size.bit_length()

    @property
    def key_bits(self) -> int:
        """Bits of a signed difference of two keys."""
        return 1 + self.tie_bits + self.widest.bit_length()

    @property
    def word(self) -> np.dtype[Any]:
        """The word of the ring: 32 bits where they hold every number of the computation."""
        return np.dtype(np.uint32 if self._fits(32) else np.uint64)

    @property
    def square(self) -> tuple[int, int, int]:
        """The shape of a table: a matrix for each weighting."""
        return self.weightings, self.size, self.size

    def sizes(self, candidates: int) -> tuple[int, ...]:
        """The sizes of groups, one for each column of each weighting."""
        return (candidates,) * (self.weightings * self.size)

    def _fits(self, bits: int) -> bool:
        # The certificate adds up to n reduced costs of at most 3 C and compares them with costs of
        # at most C: both sides must stay below half the ring to be equal as integers.
        sums = self.size * (self.widest + self.spread + 1)
        return max(self.key_bits, self.descent_bits) <= bits and sums < 1 << (bits - 1)
