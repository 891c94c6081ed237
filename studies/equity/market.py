"""Airlines that compete for slots, day after day: what every run of a series is drawn from.

A flight costs its weight times its delay in slots, and a part of a slot whatever it gets. Weights
vary from flight to flight, and airlines differ by a factor of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
BUSY = 0.6
"""Flights are scheduled for this first part of the slots."""
UNIT = 10
"""What a slot of delay costs a flight of weight 1."""
LARGEST = 1_000_000
"""No cell costs more."""


class Market(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How many airlines, flights and slots there are, and how far costs differ."""

    airlines: int = 4
    flights: int = 40
    slots: int = 60
    ratio: float = 2.5
    """The costs of the last airline over those of the first; the others lie evenly between."""
    variation: float = 0.8
    """The standard deviation of the logarithm of a flight's weight."""
    fixed: float = 0.2
    """What a flight pays in every slot, in slots of delay."""

    @property
    def factors(self) -> NDArray[np.float64]:
        """What each airline's costs are multiplied by."""
        return np.linspace(1, self.ratio, self.airlines)


@dataclass(frozen=True)
class Day:
    """One run: its true costs, and what is public of it."""

    owners: NDArray[np.intp]
    costs: Numbers
    """Rows x columns; where a flight cannot land, the largest."""
    forbidden: NDArray[np.bool_]
    scheduled: NDArray[np.intp]
    reference: NDArray[np.intp]
    """First come, first served."""


def draw_day(market: Market, rng: np.random.Generator, /) -> Day:
    """Draw the flights of a day, each with a slot at or after its time.

    >>> day = draw_day(Market(airlines=3, flights=3, slots=3), np.random.default_rng(1))
    >>> day.reference.tolist(), sorted(day.owners.tolist())
    ([0, 1, 2], [0, 1, 2])
    """
    flights, slots = market.flights, market.slots
    first = np.sort(rng.integers(0, max(int(BUSY * slots), 1), flights))
    scheduled = np.minimum(first, slots - flights + np.arange(flights))
    owners = rng.permutation(np.arange(flights) % market.airlines)
    weights = market.factors[owners] * np.exp(market.variation * rng.normal(size=flights))
    delays = np.arange(slots) - scheduled[:, None]
    exact = UNIT * weights[:, None] * (np.maximum(delays, 0) + market.fixed)
    costs = np.minimum(np.rint(exact), LARGEST).astype(np.int64)
    forbidden = delays < 0
    costs[forbidden] = LARGEST
    return Day(owners, costs, forbidden, scheduled, first_come_first_served(scheduled))


def first_come_first_served(scheduled: NDArray[np.intp], /) -> NDArray[np.intp]:
    """Each flight in turn takes the first slot that is left at or after its time.

    >>> first_come_first_served(np.array([0, 0, 1, 5]))
    array([0, 1, 2, 5])
    """
    slots = np.empty_like(scheduled)
    free = 0
    for flight, time in enumerate(scheduled):
        slots[flight] = max(free, time)
        free = slots[flight] + 1
    return slots
