"""One series in the clear: days, plans, balances and factors, as the nodes would compute them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from studies.equity.market import LARGEST, Conduct, Day, Market, draw_day
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
