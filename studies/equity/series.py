"""Series of runs in the clear: the market, and balances and factors as nodes compute them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.equity import (
    FINENESS,
    NEUTRAL,
    EquityRule,
    EquityShape,
    balance_of,
    factor_of,
    least_costs,
    plan_costs,
    saved_shares,
    steps_of,
    weighted,
)

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
    # The last flights still need a slot each.
    scheduled = np.minimum(first, slots - flights + np.arange(flights))
    owners = rng.permutation(np.arange(flights) % market.airlines)
    # Log-normal: costs of flights differ by factors, and none is negative.
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
    # A stream of its own: the average of a market must not depend on the series that asks for it.
    rng = np.random.default_rng(0)
    days = [draw_day(market, rng) for _ in range(USUAL_DAYS)]
    mine = [(day.owners == airline)[:, None] & ~day.forbidden for day in days]
    return float(np.mean([day.costs[cells].sum() for day, cells in zip(days, mine, strict=True)]))


NEW_FOR = 32
"""For how many of its runs the level of somebody who joined later is at most 0. Nobody joins a
series today; the study asks what a new name would gain if one could."""


class EquitySetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the series of a cell have in common."""

    market: Market = Market()
    equity: bool = True
    """Without it balances are kept, and change nothing."""
    levels: int = EquityRule.levels
    decay: int = EquityRule.decay
    spacing: int = EquityRule.spacing
    definition: Literal["row minima", "plain"] = "row minima"
    """Plain: the saved share without subtracting the least costs of rows."""
    moves: int = 0
    """How many exchanges there is time to try; 0: the optimum is found."""
    conduct: Conduct = Conduct()

    @property
    def rule(self) -> EquityRule:
        """How balances become factors; without equity, how they would."""
        return EquityRule(self.levels, self.decay, self.spacing)


@dataclass(frozen=True)
class Series:
    """What happened, a line per run and a column per airline; all costs are true ones."""

    reference: Numbers
    found: Numbers
    least: Numbers
    optimum: Numbers
    """The total cost of the best plan of each run without factors."""
    levels: Numbers
    displaced: NDArray[np.float64]
    """By how many slots each airline's flights are later than under the reference: public."""
    delayed: NDArray[np.float64]
    """By how many slots they are later than scheduled under the reference: public."""

    @property
    def saved(self) -> NDArray[np.float64]:
        """The share of its cost that each airline saved over the whole series."""
        # A share of sums and not a mean of shares, which would count a cheap day as much as a dear
        # one.
        whole: NDArray[np.float64] = 1 - self.found.sum(axis=0) / self.reference.sum(axis=0)
        return whole

    @property
    def saved_of_possible(self) -> NDArray[np.float64]:
        """The same of what it could save at all: the least costs of its flights are subtracted."""
        possible = (self.reference - self.least).sum(axis=0)
        whole: NDArray[np.float64] = (self.reference - self.found).sum(axis=0) / possible
        return whole

    @property
    def excess(self) -> float:
        """By how much the total cost is above the best, as a share."""
        return float(self.found.sum() / self.optimum.sum() - 1)


def run_series(setting: EquitySetting, seed: int, runs: int, /) -> Series:
    """Run a series.

    >>> series = run_series(EquitySetting(equity=False), 1, 3)
    >>> series.excess, series.saved.shape
    (0.0, (4,))
    """
    rng = np.random.default_rng(seed)
    airlines = setting.market.airlines
    steps: list[list[int]] = [[] for _ in range(airlines)]
    is_new = [False] * airlines
    lines: list[tuple[object, ...]] = []
    for run in range(runs):
        day = draw_day(setting.market, rng)
        if setting.conduct.renewed(run):
            steps[setting.conduct.airline], is_new[setting.conduct.airline] = [], True
        newcomers = [new and len(own) < NEW_FOR for new, own in zip(is_new, steps, strict=True)]
        factors = [
            min(factor_of(balance_of(own, setting.rule), setting.rule), NEUTRAL if newcomer else 99)
            for own, newcomer in zip(steps, newcomers, strict=True)
        ]
        stated = setting.conduct.stated(day, setting.market)
        # Balances are kept in both arms of the study, and differ in what they change alone.
        applied = factors if setting.equity else [NEUTRAL] * airlines
        plan = _plan(day, weighted(stated, applied, day.owners), setting.moves, rng)
        for own, step in zip(steps, steps_of(_saved(setting, day, stated, plan)), strict=True):
            own.append(int(step))
        lines.append(_measured(day, plan, factors, airlines))
    columns = [np.array(column) for column in zip(*lines, strict=True)]
    return Series(*columns)


def _measured(
    day: Day, plan: NDArray[np.intp], factors: list[int], airlines: int
) -> tuple[object, ...]:
    shape, rows = _shape(day), np.arange(len(plan))
    best = plan_costs(day.costs, _plan(day, day.costs, 0, None), shape).sum()
    flights = np.bincount(day.owners, minlength=airlines)
    late = [np.bincount(day.owners, by, airlines) / flights
            for by in (plan - day.reference, day.reference - day.scheduled)]  # fmt: skip
    assert not day.forbidden[rows, plan].any()
    return (
        plan_costs(day.costs, day.reference, shape),
        plan_costs(day.costs, plan, shape),
        least_costs(day.costs, shape),
        best,
        [factor - NEUTRAL for factor in factors],
        *late,
    )


def _shape(day: Day) -> EquityShape:
    return EquityShape(
        day.owners.tolist(), day.costs.shape[1], bound=LARGEST, forbidden=day.forbidden
    )


def _saved(setting: EquitySetting, day: Day, stated: Numbers, plan: NDArray[np.intp]) -> Numbers:
    shape = _shape(day)
    if setting.definition == "row minima":
        return saved_shares(stated, day.reference, plan, shape)
    before, after = (plan_costs(stated, each, shape) for each in (day.reference, plan))
    shares: Numbers = np.clip(FINENESS * (before - after) // (before + 1), -FINENESS, FINENESS)
    return shares


def _plan(
    day: Day, weights: Numbers, moves: int, rng: np.random.Generator | None
) -> NDArray[np.intp]:
    """The best plan, or the best that so many exchanges lead to from the reference."""
    if moves == 0 or rng is None:
        # More than all other cells of a plan together, so that a forbidden one is never worth it.
        never = int(weights.max()) * len(weights) + 1
        best: NDArray[np.intp] = linear_sum_assignment(np.where(day.forbidden, never, weights))[1]
        return best
    return _exchanged(day, weights, rng.integers(0, weights.shape[1], (moves, 2)))


def _exchanged(day: Day, weights: Numbers, pairs: Numbers) -> NDArray[np.intp]:
    """Pairs of slots in turn exchange what lands in them, if that is allowed and costs less."""
    flights, slots = weights.shape
    costs = np.zeros((slots, slots), dtype=np.int64)  # empty slots hold flights without costs
    costs[:flights] = np.where(day.forbidden, LARGEST * LARGEST, weights)
    holder = np.full(slots, -1)
    holder[day.reference] = np.arange(flights)
    holder[holder < 0] = np.arange(flights, slots)
    table, held = costs.tolist(), holder.tolist()
    for a, b in pairs.tolist():
        one, other = held[a], held[b]
        if table[one][b] + table[other][a] < table[one][a] + table[other][b]:
            held[a], held[b] = other, one
    plan = np.empty(slots, dtype=np.intp)
    plan[held] = np.arange(slots)
    return plan[:flights]
