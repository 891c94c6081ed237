"""Of four nodes one that computes with something else than it holds: no balance is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tacit.equity import EquityRule, EquityShape, factors, saved_shares, steps_after, steps_of
from tacit.errors import MismatchError, PeerError
from tacit.mpc import Session
from tacit.mpc.local import deal_integers, parties
from tacit.mpc.ring import from_ring
from tacit.mpc.shares import party_name, reconstruct
from tests.mpc.test_falsified import Falsified
from tests.mpc.waiting_clock import run_without_waiting

SHAPE = EquityShape([0, 1, 2], columns=3, bound=20)
WEIGHTS = np.array([[1, 9, 5], [0, 4, 3], [2, 2, 2]])
REFERENCE, PLAN = np.array([1, 0, 2]), np.array([0, 1, 2])
BALANCES = [1 << 30, -5, -(1 << 30)]


def run(falsified: Falsified, what: str) -> dict[int, Any]:
    """What each of four nodes returns or raises."""
    weights = deal_integers(WEIGHTS, nodes=4)
    plan, balances = deal_integers(PLAN, nodes=4), deal_integers(BALANCES, nodes=4)

    async def node(s: Session) -> Any:
        mine = {"weights": weights[s.me], "plan": plan[s.me], "balances": balances[s.me]}
        mine[what] = falsified.share(s.me, mine[what])
        try:
            if what == "balances":
                return await factors(s, mine[what], EquityRule(), label="f")
            done = await steps_after(s, mine["weights"], REFERENCE, mine["plan"], SHAPE, label="e")
        except PeerError as error:
            return error
        return done.steps

    async def whole() -> dict[int, Any]:
        made = await parties(node, nodes=4, timeout=1)
        return dict(enumerate(made.results))

    return run_without_waiting(whole())


EXPECTED = {
    "weights": steps_of(saved_shares(WEIGHTS, REFERENCE, PLAN, SHAPE)).tolist(),
    "plan": steps_of(saved_shares(WEIGHTS, REFERENCE, PLAN, SHAPE)).tolist(),
    "balances": [12, 16, 20],
}


@pytest.mark.parametrize("what", EXPECTED)
@pytest.mark.parametrize("node", [1, 3])
def test_a_falsified_component_never_leads_to_a_wrong_balance(node: int, what: str) -> None:
    noticed = 0
    for component in set(range(4)) - {node}:
        outcomes = run(Falsified(node, component, entry=component % 3), what)
        honest = {party: outcome for party, outcome in outcomes.items() if party != node}
        for outcome in honest.values():
            if isinstance(outcome, MismatchError):
                noticed += 1
                assert party_name(node) in (outcome.peer, outcome.voucher)
        if not any(isinstance(outcome, PeerError) for outcome in honest.values()):
            assert from_ring(reconstruct(list(honest.values()))).tolist() == EXPECTED[what]
    assert noticed > 0
