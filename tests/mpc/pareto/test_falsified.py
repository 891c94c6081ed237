"""Of four nodes one that computes with something else than it holds: no answer is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import MismatchError, PeerError
from tacit.mpc import COORDINATOR, FitnessBound, ParetoWidths, Session, Spec
from tacit.mpc import collect_pareto as collect
from tacit.mpc import evaluate_pareto as evaluate
from tacit.mpc.local import deal_integers, parties
from tacit.mpc.shares import party_name
from tests.mpc.pareto import twin
from tests.mpc.test_falsified import Falsified
from tests.mpc.waiting_clock import run_without_waiting

VALUES = [[5, 9, 0, 5], [1, 2, 7, 3]]
ASK: dict[str, Any] = {
    "spec": Spec.parse("order"),
    "widths": ParetoWidths([FitnessBound(0, 9)] * 2, 4),
}


def run(falsified: Falsified, objective: int) -> dict[int, Any]:
    """What each party of four returns or raises."""
    shares = [deal_integers(line, nodes=4) for line in VALUES]

    async def guarded(work: Any) -> Any:
        try:
            return await work
        except PeerError as error:
            return error

    def node(s: Session) -> Any:
        mine = [each[s.me] for each in shares]
        mine[objective] = falsified.share(s.me, mine[objective])
        return guarded(evaluate(s, mine, told=True, **ASK))

    async def whole() -> dict[int, Any]:
        made = await parties(node, lambda s: guarded(collect(s, **ASK)), nodes=4, timeout=1)
        return {**dict(enumerate(made.results)), COORDINATOR: made.coordinator}

    return run_without_waiting(whole())


@pytest.mark.parametrize("node", range(4))
def test_a_falsified_component_never_leads_to_a_wrong_answer(node: int) -> None:
    expected, noticed = twin.ranks(VALUES, [9, 9]), 0
    for component in set(range(4)) - {node}:
        outcomes = run(Falsified(node, component, entry=component), component % 2)
        for party, outcome in outcomes.items():
            if party == node:
                continue
            if isinstance(outcome, MismatchError):
                noticed += 1
                assert party_name(node) in (outcome.peer, outcome.voucher)
            elif not isinstance(outcome, PeerError):
                values = outcome if party == COORDINATOR else outcome.told
                assert values.labels.tolist() == expected
    # The first stage of the shuffle replaces all that node 0 holds.
    assert (noticed > 0) == (node > 0)
