"""Airlines that compete for slots, day after day: what every run of a series is drawn from.

A flight costs its weight times its delay in slots, and a part of a slot whatever it gets. Weights
vary from flight to flight, and airlines differ by a factor of their own. An airline may state other
costs than it has, so as to gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

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
ALLOWANCE = 1.2
USUAL_DAYS = 200
"""Days from which an average is taken."""


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


class Conduct(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one airline does; all others state their true costs."""

    kind: Literal["truth", "multiply", "add", "keep the best", "new name"] = "truth"
    amount: float = 1
    """The factor, what is added in slots of delay, or after how many runs it takes a new name."""
    airline: int = 0
    bound: Literal["none", "cells", "sum"] = "none"
    """What the agreement bounds: every stated cost by the largest that the airline truly has, or
    the sum of its stated costs by a fifth more than it is on an average day."""

    def stated(self, day: Day, market: Market, /) -> Numbers:
        """The costs that the nodes are given.

        >>> market = Market(airlines=3, flights=3, slots=3)
        >>> day = draw_day(market, np.random.default_rng(1))
        >>> lie = Conduct(kind="multiply", amount=2, airline=int(day.owners[0]))
        >>> bool((lie.stated(day, market)[0] == 2 * day.costs[0]).all())
        True
        """
        mine = (day.owners == self.airline)[:, None] & ~day.forbidden
        costs = day.costs.astype(np.float64)
        if self.kind == "multiply":
            costs = np.where(mine, self.amount * costs, costs)
        elif self.kind == "add":
            costs = np.where(mine, costs + UNIT * self.amount, costs)
        elif self.kind == "keep the best":
            best = costs == np.where(day.forbidden, np.inf, costs).min(axis=1, keepdims=True)
            costs = np.where(mine & ~best, self.amount * costs, costs)
        if self.bound == "sum":
            budget = ALLOWANCE * usual_sum(market, self.airline)
            costs = np.where(mine, costs * min(1.0, budget / costs[mine].sum()), costs)
        most = day.costs[mine].max(initial=0) if self.bound == "cells" else LARGEST
        stated = np.where(mine, np.minimum(np.rint(costs), most), day.costs)
        return stated.astype(np.int64)

    def renewed(self, run: int, /) -> bool:
        """Whether the airline comes back under a new name before this run."""
        return self.kind == "new name" and run > 0 and run % int(self.amount) == 0


@cache
def usual_sum(market: Market, airline: int, /) -> float:
    """The sum of an airline's true costs on an average day."""
    rng = np.random.default_rng(0)
    days = [draw_day(market, rng) for _ in range(USUAL_DAYS)]
    mine = [(day.owners == airline)[:, None] & ~day.forbidden for day in days]
    return float(np.mean([day.costs[cells].sum() for day, cells in zip(days, mine, strict=True)]))
