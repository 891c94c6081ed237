"""Runs in a row on shares: factors, the exact solver on weighted costs, and steps from its plan.

Nothing is opened in between, and what is at the end is what the clear series has.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.equity import (
    EquityRule,
    EquityShape,
    balance_of,
    balances,
    factor_of,
    factors,
    multiplied,
    saved_shares,
    steps_after,
    steps_of,
    weighted,
)
from tacit.mpc.assignment import Layout, Ties, iterations, proof
from tacit.mpc.assignment.state import drawn_matching
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, concatenate, reconstruct

Shares = Sequence[ArithmeticShare]
Steps = Sequence[list[ArithmeticShare]]
ROWS, BOUND = 4, 1000
OWNERS = [0, 1, 2, 2]
SHAPE = EquityShape(OWNERS, ROWS, BOUND)
RULE = EquityRule(levels=4, spacing=4)
REFERENCE = np.arange(ROWS)
DAYS = np.random.default_rng(8).integers(0, [[1001], [1001], [301], [301]], (2, ROWS, ROWS))
"""The third participant has lower costs, so it is the one that gives way."""
Day = tuple[ArithmeticShare, ArithmeticShare, list[ArithmeticShare]]
"""Whether it is proved, factors and all own steps after a run, in shares."""


async def solved(s: Session, weights: ArithmeticShare) -> tuple[ArithmeticShare, ArithmeticShare]:
    """Whether the plan of one run is proved, and the plan, both shares."""
    largest = RULE.largest_factor * BOUND
    layout, ties = Layout(ROWS, range(ROWS), largest), Ties(5)
    shape = layout.shape()
    costs = layout.costs(weights[None], [(0, largest)], shape)
    plan = await drawn_matching(s, shape, label="drawn")
    state = await iterations.first_state(s, *plan, costs, shape, ties)
    state = await iterations.advance(s, state, costs, shape, ties, iterations=4 * ROWS)
    answer = await proof.finish(s, state, costs, layout, shape, ties)
    heads = proof.heads(steps=())
    return answer.plans[0, 1:heads], answer.plans[0, heads:]


async def day(s: Session, weights: ArithmeticShare, own: list[ArithmeticShare]) -> Day:
    """One run, from the steps of those before it."""
    found = await factors(s, balances(own, RULE), RULE, label="f")
    scaled = await multiplied(s, weights, found, OWNERS, label="w")
    proved, plan = await solved(s, scaled)
    done = await steps_after(s, weights, REFERENCE, plan, SHAPE, label="e")
    new = [concatenate([past, done.steps[k : k + 1]]) for k, past in enumerate(own)]
    return proved, found, new


def test_a_series_on_shares_is_the_clear_one() -> None:
    steps: list[list[int]] = [[], [], []]
    held = [[none] * 3 for none in deal_integers(np.zeros(0, dtype=np.int64))]
    seen: set[int] = set()
    for weights in DAYS:
        dealt = deal_integers(weights)

        # Each run is a session of its own, with keys of its own.
        def node(s: Session, x: Shares = dealt, own: Steps = held) -> Coroutine[Any, Any, Day]:
            return day(s, x[s.me], own[s.me])

        outcomes, found, kept = zip(*run_parties(node, timeout=60.0).results, strict=True)
        assert reconstruct(outcomes).tolist() == [1]
        clear = [factor_of(balance_of(own, RULE), RULE) for own in steps]
        assert reveal(found).tolist() == clear
        seen |= set(clear)
        saved = saved_shares(weights, REFERENCE, best(weighted(weights, clear, OWNERS)), SHAPE)
        for own, step in zip(steps, steps_of(saved), strict=True):
            own.append(int(step))
        held = list(kept)
        for k in range(3):
            assert reveal([mine[k] for mine in held]).tolist() == steps[k]
    assert len(seen) > 2


def best(weights: NDArray[np.int64]) -> NDArray[np.intp]:
    columns: NDArray[np.intp] = linear_sum_assignment(weights)[1]
    return columns
