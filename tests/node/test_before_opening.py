"""What must hold at a node before a plan is opened, or a search goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement import Agreement
from tacit.errors import RefusedError
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store
from tacit.problems import Objective, generate_assignment
from tacit.records.events import RunCounted
from tests.agreement.test_equity import plain, with_equity
from tests.on_nodes.owners_cast import owners_cast

KEY = X25519PrivateKey.from_private_bytes(bytes(32))


def test_a_plan_of_a_run_with_balances_is_opened_once_it_counts(tmp_path: Path) -> None:
    def state(agreement: Agreement, name: str) -> AgreementState:
        return AgreementState(Store.create(tmp_path / name, agreement, {}), node=0, key=KEY)

    state(plain(), "plain").check_counted()
    counts = with_equity(plain())
    held = state(counts, "equity")
    with pytest.raises(RefusedError, match="not counted yet"):
        held.check_counted()
    held.write_counted(RunCounted(2, "3:5", [], "ab" * 32, 1, [], []))
    # Its plan may leave the node now: a power cut must not take the line.
    assert held.store.log.is_synced
    held.check_counted()
    state(counts, "equity").check_counted()


def test_searches_that_share_a_state_go_on_together(tmp_path: Path) -> None:
    pair = tuple(Objective(name, None, weight_bound=9) for name in ("pay", "rest"))
    problem = replace(generate_assignment(1, rows=4, participants=1), objectives=pair)
    agreement = owners_cast(
        problem=problem, weightings=[(1, 2), (2, 1)], plan_for="everybody"
    ).agreement
    held = AgreementState(Store.create(tmp_path, agreement, {}), node=0, key=KEY)
    for objective in agreement.confidential():
        held.inputs.seed_contributions[objective] = "00"
    assert held.search(0, goes_on=True).searches == (0, 1)
    held.search(1)
    with pytest.raises(RefusedError, match="goes on together with 0"):
        held.search(1, goes_on=True)
    with pytest.raises(RefusedError, match="no sealed search 2"):
        held.search(2)
