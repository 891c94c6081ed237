"""How a participant states its costs: truly, or so as to gain."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from studies.equity.market import LARGEST, UNIT, Day, Market, draw_day

Numbers = NDArray[np.int64]
ALLOWANCE = 1.2
USUAL_DAYS = 200
"""Days from which an average is taken."""


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
