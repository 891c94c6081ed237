"""How wide the numbers of a Pareto score are, and whether the ring has room for them.

With S the largest possible span of an objective plus 1, m objectives and n candidates:

::

    first order   F_1, sum of the others, index          opened comparisons
    dominance     F_k                                     kept comparisons
    crowding      m^2 S_1 S_2, two objectives             exact
                  m^2 2^(b + 4), b the bits of the widest span      in steps of the spans
    score         dominators, crowding                    the index is appended as to any fitness

Two objectives whose exact score does not fit the ring get the score in steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tacit.errors import ParameterError
from tacit.mpc.bound import FitnessBound, index_bits, key_bits
from tacit.mpc.ring import RING_BITS

MOST_CANDIDATES = 1000
"""All pairs are compared at once, and a candidate's dominators are counted in 16 bits."""
SIGNIFICANT = 4
"""Bits to which a span is rounded up where crowding is in steps."""


@dataclass(frozen=True)
class ParetoWidths:
    """The public numbers that a Pareto score of n candidates follows from.

    >>> two = ParetoWidths([FitnessBound(-100000, 0)] * 2, 300)
    >>> two.first_bits, two.exact, key_bits(two.score_bound, 300)
    (44, True, 55)
    >>> four = ParetoWidths([FitnessBound(0, 2**18 - 1)] * 4, 300)
    >>> four.exact, key_bits(four.score_bound, 300)
    (False, 46)
    """

    bounds: Sequence[FitnessBound]
    candidates: int

    def __post_init__(self) -> None:
        m, n = len(self.bounds), self.candidates
        if m < 2:
            raise ParameterError(f"a Pareto score needs two objectives or more; got {m}")
        if not 1 <= n <= MOST_CANDIDATES:
            raise ParameterError(
                f"a Pareto score is found for 1..{MOST_CANDIDATES} candidates at once; got {n}"
            )
        needed = max(self.first_bits, key_bits(self.score_bound, n))
        if needed > RING_BITS:
            raise ParameterError(
                f"a Pareto score of {m} objectives and {n} candidates needs {needed} bits, the "
                f"ring has {RING_BITS}; scale the weights down"
            )

    @property
    def objectives(self) -> int:
        """How many objectives there are."""
        return len(self.bounds)

    @property
    def others_bits(self) -> int:
        """The bits of the sum of all objectives but the first."""
        return sum(bound.span for bound in self.bounds[1:]).bit_length()

    @property
    def first_bits(self) -> int:
        """The bits of a signed difference of two keys of the first order."""
        return self.bounds[0].bits + self.others_bits + index_bits(self.candidates) + 1

    @property
    def dominance_bits(self) -> int:
        """The bits of a signed difference in any objective but the first."""
        return max(bound.bits for bound in self.bounds[1:]) + 1

    @property
    def span_bits(self) -> int:
        """The bits of a signed difference between a span and a step."""
        return (max(bound.span for bound in self.bounds) + 1).bit_length() + 1

    @property
    def scale(self) -> int:
        """What a whole span counts where crowding is in steps."""
        return 1 << (max(bound.bits for bound in self.bounds) + SIGNIFICANT)

    def _crowding_bits(self, *, exact: bool) -> int:
        of_spans = math.prod(b.span + 1 for b in self.bounds) if exact else self.scale
        return (self.objectives**2 * of_spans).bit_length()

    @cached_property
    def exact(self) -> bool:
        """Whether crowding is exact; otherwise it is in steps of the spans."""
        if self.objectives != 2:
            return False
        bits = self._crowding_bits(exact=True) + 2 * index_bits(self.candidates) + 1
        return bits <= RING_BITS

    @cached_property
    def crowding_bits(self) -> int:
        """The bits of a candidate's crowding."""
        return self._crowding_bits(exact=self.exact)

    @property
    def score_bound(self) -> FitnessBound:
        """The range of the score, which is disclosed as a fitness would be."""
        return FitnessBound(0, (self.candidates << self.crowding_bits) - 1)
