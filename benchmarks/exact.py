"""The sealed forest over families of costs: what is proved, in how many rounds and bytes.

    python -m benchmarks.exact                       a table
    python -m benchmarks.exact --runs 31 --only uniform
    python -m benchmarks.exact --size 60 --json      the same as JSON

Each family has a public schedule. How many instances are proved within it, and how good the plans
are, is found in the clear, which gives what nodes give, byte for byte. One instance of each is
solved by three nodes in one process: rounds and bytes of the node that sends most as measured, and
the processor time of all nodes together.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.cost_families import FAMILIES, Instance, instance
from tacit.mpc import ArithmeticShare, to_ring
from tacit.mpc.forest import (
    ClearForest,
    Coins,
    ForestShape,
    Layout,
    Outcome,
    Phase,
    advance,
    finish,
    finish_in_the_clear,
    largest_epsilon,
    plain,
    scaled,
    start,
)
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.session import Session

_FOREVER = 600.0


class Solved:
    """An instance with its layout and schedule."""

    def __init__(self, name: str, size: int, seed: int) -> None:
        self.asked: Instance = instance(name, size, seed)
        rows, columns = self.asked.costs.shape
        self.layout = Layout(rows, range(columns), self.asked.high, self.asked.forbidden)
        family = FAMILIES[name]
        self.schedule: tuple[Phase, ...] = (
            scaled(columns, self.asked.high, family.phases)
            if family.scaled
            else plain(columns, family.phases)
        )
        epsilon = largest_epsilon(self.schedule)
        self.shape: ForestShape = self.layout.shape(largest_epsilon=epsilon)
        self.coins = Coins(seed)

    def _costs(self, share: ArithmeticShare) -> ArithmeticShare:
        return self.layout.costs(share, [(0, self.asked.high)], self.shape)

    def in_the_clear(self) -> tuple[bool, float]:
        """Whether it is proved, and what the plan costs in percent of the optimum."""
        whole = ArithmeticShare({0: to_ring(self.asked.costs[None])})
        costs = self._costs(whole).parts[0][0].astype(np.int64)
        forest = ClearForest(costs, self.shape, self.coins)
        state = forest.advance(forest.start(), self.schedule)
        answer = finish_in_the_clear(state, costs, self.layout, self.shape)
        table = self.asked.costs.astype(float)
        if self.asked.forbidden is not None:
            table = np.where(self.asked.forbidden, np.inf, table)
        rows, columns = linear_sum_assignment(table)
        best = float(table[rows, columns].sum())
        found = answer.total / self.shape.scale
        percent = float("nan") if answer.outcome < Outcome.FEASIBLE else _percent(found, best)
        return answer.outcome == Outcome.OPTIMUM, percent

    def on_nodes(self) -> dict[str, float]:
        """Rounds, bytes and processor time of all nodes in this process."""
        dealt = deal_integers(self.asked.costs[None])

        async def node(s: Session) -> None:
            costs = self._costs(dealt[s.me])
            state = await start(s, costs, self.shape, self.coins)
            state = await advance(s, state, costs, self.schedule, self.shape, self.coins)
            await finish(s, state, costs, self.layout, self.shape)

        before = time.process_time()
        run = run_parties(node, timeout=_FOREVER)
        seconds = time.process_time() - before
        return {"rounds": run.rounds, "bytes_per_node": max(run.sent), "seconds": seconds}


def _percent(found: float, best: float) -> float:
    return 100.0 * found / best if best else 100.0 + found


def measured(name: str, size: int, runs: int) -> dict[str, Any]:
    """One family: the share of instances that is proved, and the mean quality of all plans."""
    proved, percents = zip(
        *(Solved(name, size, k).in_the_clear() for k in range(runs)), strict=True
    )
    return {
        "proved": sum(proved) / runs,
        **Solved(name, size, 0).on_nodes(),
        "quality": float(np.nanmean(percents)),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact", description=__doc__)
    parser.add_argument("--size", type=int, default=100, help="columns (default: 100)")
    parser.add_argument("--runs", type=int, default=5, help="instances of each family (default: 5)")
    parser.add_argument("--only", choices=FAMILIES, help="one family")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    names = [options.only] if options.only else list(FAMILIES)
    found = {}
    for name in names:
        found[name] = of = measured(name, options.size, options.runs)
        if not options.json:
            print(
                f"{name:12} proved {of['proved']:4.0%}  {of['rounds']:6,} rounds  "
                f"{of['bytes_per_node'] / 1e6:7.1f} MB  {of['seconds']:6.1f} s  "
                f"{of['quality']:8.3f} %",
                flush=True,
            )
    if options.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
