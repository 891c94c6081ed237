"""The rule that turns a balance into a factor, and the public shape of a run that counts.

In a balance, 2^20 stands for one 128th of a saved share above the mean, in the last run that the
participant took part in; what is older counts less.

With X the largest cost of all rows of one participant, costs under the reference A, under the plan
B and least costs M are 0 to X, and M is at most A. A test 128 (A - B) - v (A - M + 1), with v from
-127 to 128, is between -256 X - 128 and 255 X + 127, so the bits of 256 X + 128 and a sign hold it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


LEAST_PARTICIPANTS = 3
"""Balances add up to zero: of two participants each would know the other's."""


@dataclass(frozen=True)
class EquityShape:
    """Rows and their owners, columns, allowed pairs and the bound of the costs.

    >>> shape = EquityShape([0, 0, 1, 2], columns=5, bound=1000)
    >>> shape.active, shape.test_bits, shape.key_bits, shape.word
    ([0, 1, 2], 20, 14, dtype('uint32'))
    """

    owners: Sequence[int]
    """The participant of each row, counted from 0."""
    columns: int
    bound: int
    """Weights are 0 to this, by agreement and by the check of the inputs."""
    forbidden: NDArray[np.bool_] | None = None
    """Rows x columns."""
    maximize: bool = False
    """Whether weights are values: then the bound minus the value is the cost."""

    def __post_init__(self) -> None:
        if len(self.active) < LEAST_PARTICIPANTS:
            raise ParameterError(
                f"{len(self.active)} participants have rows; a run counts for balances "
                f"with at least {LEAST_PARTICIPANTS}"
            )
        if self.columns < 2:
            raise ParameterError("with one column there is nothing to save; give at least two")
        if self.bound < 1:
            raise ParameterError(f"weights of 0 to {self.bound} save nothing; raise the bound")
        if max(self.test_bits, self.key_bits) > 64:
            raise ParameterError(
                f"costs up to {self.bound:,} need {max(self.test_bits, self.key_bits)} bits; "
                "the ring has 64; scale the weights down"
            )
        if not self.allowed.any(axis=1).all():
            raise ParameterError("a row has no allowed column; allow one")

    @property
    def rows(self) -> int:
        return len(self.owners)

    @cached_property
    def active(self) -> list[int]:
        """The participants that have rows, rising: only these take a step."""
        return sorted(set(self.owners))

    @cached_property
    def places(self) -> NDArray[np.intp]:
        """For each row, where its owner stands among those that have rows."""
        return np.searchsorted(self.active, np.array(self.owners))

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Rows x columns."""
        every = np.ones((self.rows, self.columns), dtype=bool)
        return every if self.forbidden is None else ~self.forbidden

    @property
    def _largest(self) -> int:
        """The largest cost of all rows of one participant."""
        return int(np.bincount(self.places).max()) * self.bound

    @property
    def test_bits(self) -> int:
        """The bits of a test of the saved share, with its sign."""
        return 1 + (2 * FINENESS * self._largest + FINENESS).bit_length()

    @property
    def tie_bits(self) -> int:
        """The bits of a public number that tells the cells of a row apart."""
        return (self.columns - 1).bit_length()

    @property
    def key_bits(self) -> int:
        """The bits of a signed difference of two keys in a row's minimum."""
        return 1 + (((self.bound + 1) << self.tie_bits) - 1).bit_length()

    @property
    def word(self) -> np.dtype[Any]:
        """The word of the ring: 32 bits where they hold keys and tests."""
        return np.dtype(np.uint32 if max(self.test_bits, self.key_bits) <= 32 else np.uint64)

    def by_owner(self, part: NDArray[Any]) -> NDArray[Any]:
        """Numbers of the rows, added up for each participant that has some."""
        made = np.zeros(len(self.active), dtype=part.dtype)
        np.add.at(made, self.places, part)
        return made
