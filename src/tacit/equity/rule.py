"""How a balance becomes a factor: public, and agreed once for a series.

In a balance, 2^20 stands for one 128th of a saved share above the mean, in the last run that the
participant took part in; what is older counts less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tacit.errors import ParameterError

NEUTRAL = 16
"""The factor of whoever is neither ahead nor behind."""
FINENESS = 128
"""A saved share is counted in this many parts."""
STEP_SCALE = 4096
"""By what a step is scaled, and divided by how many take part."""
WEIGHT_SCALE = 256
"""The weight of the last step in a balance."""
MEMORY = 64
"""How many of its own steps count in a participant's balance."""
MOST_LEVELS = NEUTRAL - 1
UNIT = STEP_SCALE * WEIGHT_SCALE // 2
"""Half a 128th of a saved share in a balance: thresholds are odd multiples of it."""
BALANCE_BITS = 36
"""The bits of a signed difference of a balance and a threshold (docs/protocols/equity.md)."""


@dataclass(frozen=True)
class EquityRule:
    """Levels, how fast balances fade, and how far apart thresholds are.

    >>> rule = EquityRule(levels=2, decay=500, spacing=32)
    >>> rule.thresholds == tuple(unit * 32 * UNIT for unit in (-3, -1, 1, 3))
    True
    >>> rule.weights[:5], rule.largest_factor
    ((256, 128, 64, 32, 16), 18)
    """

    levels: int = 4
    """Factors go from 16 - levels to 16 + levels."""
    decay: int = 980
    """What is left of a step after one more own participation, in thousandths."""
    spacing: int = 32
    """How far ahead one level is, in 128ths of a saved share."""

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= MOST_LEVELS:
            raise ParameterError(f"{self.levels} levels are not known; use 1 to {MOST_LEVELS}")
        if not 0 <= self.decay <= 1000:
            raise ParameterError(f"a decay of {self.decay} is not known; use 0 to 1000 thousandths")
        if self.spacing < 1 or self.thresholds[-1] > 1 << (BALANCE_BITS - 2):
            raise ParameterError(
                f"levels {self.spacing} 128ths apart are out of the range of balances; use a "
                f"spacing of 1 to {(1 << (BALANCE_BITS - 2)) // ((2 * self.levels - 1) * UNIT)}"
            )

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What the last own step counts, the one before it, and so on; exact on every machine."""
        weights = []
        for age in range(MEMORY):
            left, whole = self.decay**age, 1000**age
            weights.append((2 * WEIGHT_SCALE * left + whole) // (2 * whole))
        return tuple(weights)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Rising; a balance gains one level for each that it is below."""
        odd = range(1 - 2 * self.levels, 2 * self.levels, 2)
        return tuple(each * self.spacing * UNIT for each in odd)

    @property
    def least_factor(self) -> int:
        """The factor of whoever is far ahead."""
        return NEUTRAL - self.levels

    @property
    def largest_factor(self) -> int:
        """The factor of whoever is far behind: weights may grow so much."""
        return NEUTRAL + self.levels
