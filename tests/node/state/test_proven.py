"""A node goes on without another for proof that it can check itself, and for nothing less."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import RefusedError
from tacit.mpc import Statement
from tacit.node.agreement_state import AgreementState
from tacit.node.store import Store
from tacit.records.events import NodeLost, NodeNamed, NodeReturned
from tests.records.test_evidence import CAST, WRONG, signed, statement

PAIR = statement(1, 3, (1, 2), lies={1: WRONG}), statement(2, 3, (1, 2))
AGAIN = (
    statement(1, 0, (1, 3), lies={3: WRONG}, exchange=2),
    statement(3, 0, (1, 3), exchange=2),
)
PROOF = [*map(signed, (*PAIR, *AGAIN))]


@pytest.fixture
def kept(tmp_path: Path) -> AgreementState:
    store = Store.create(tmp_path, CAST.agreement, CAST.signatures, None)
    return AgreementState(store, node=3, key=CAST.sealing[3])


def test_proof_removes_a_node_for_the_rest_of_the_run(kept: AgreementState) -> None:
    kept.epochs.check_all_can_go_on()
    kept.epochs.check_proven(1, 3, PROOF)
    kept.epochs.opened(7, 1, PROOF)
    kept.epochs.opened(8, 1, PROOF)
    again = AgreementState(Store(kept.store.folder), node=3, key=CAST.sealing[3])
    (event,) = [event for event in again.store.log.recent() if isinstance(event, NodeLost)]
    assert event == NodeNamed(
        7, 1, [each.hex() for each in PROOF], at=event.at, previous=event.previous
    )
    for state in (kept, again):
        assert (state.epochs.lost, state.epochs.evidence) == (1, PROOF)
        with pytest.raises(RefusedError, match="node 1 is proven to have cheated"):
            state.epochs.check_all_can_go_on()
        with pytest.raises(RefusedError, match="happens once"):
            state.epochs.check_proven(2, 3, PROOF)
        state.epochs.check_proven(1, 3, PROOF)


@pytest.mark.parametrize(
    ("lost", "statements", "why"),
    [
        (1, PAIR, "proves nothing about node 1 alone: node 1 or node 2 departed"),
        (2, (*PAIR, *AGAIN), "proves nothing about node 2 alone: node 1 departed"),
        (1, PAIR[:1], "do not contradict"),
        (3, (*PAIR, *AGAIN), "cannot go on without node 3"),
        (4, (*PAIR, *AGAIN), "cannot go on without node 4"),
    ],
)
def test_less_than_proof_removes_nobody(
    kept: AgreementState, lost: int, statements: tuple[Statement, ...], why: str
) -> None:
    with pytest.raises(RefusedError, match=why):
        kept.epochs.check_proven(lost, 3, [*map(signed, statements)])


def test_what_the_platform_made_up_removes_nobody(kept: AgreementState) -> None:
    forged = [each[:-64] + bytes(64) for each in PROOF]
    with pytest.raises(RefusedError, match="did not sign"):
        kept.epochs.check_proven(1, 3, forged)


def test_after_a_loss_and_a_return_nothing_is_signed_and_nobody_done_without(
    kept: AgreementState,
) -> None:
    """What three left was not checked, so that honest nodes may contradict each other."""
    kept.epochs.check_signs()
    for event in (NodeLost(3, 2), NodeReturned(5, 2)):
        kept.epochs.replay(event)
        with pytest.raises(RefusedError, match="nothing is signed since"):
            kept.epochs.check_signs()
    with pytest.raises(RefusedError, match="happens once"):
        kept.epochs.check_proven(1, 3, PROOF)
