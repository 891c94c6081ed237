"""At a new epoch a node takes over what enough peers confirm, and drops proved offenders."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.errors import RefusedError
from tacit.mpc import ArithmeticShare, Statement
from tacit.node.agreement_state import AgreementState
from tacit.node.epoch_state import Names, common_answers, used_numbers
from tacit.node.epochs import open_epoch
from tacit.node.store import Store
from tacit.records.events import NodeLost, NodeNamed, NodeReturned
from tacit.records.ledger import DisclosedLabels
from tacit.records.log import FrozenInputs
from tacit.records.messages import OpenEpoch
from tacit.records.peer_messages import AnswersTold, EpochBegins
from tacit.records.requests import Attempt
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.fixtures import example_cast
from tests.records.test_evidence import CAST, WRONG, signed, statement

TRUE, FALSE = DisclosedLabels([1, 0, 0, 0]), DisclosedLabels([0, 0, 0, 1])


@pytest.fixture
def held(tmp_path: Path) -> AgreementState:
    """What a node holds of an agreement whose inputs are frozen."""
    cast = example_cast()
    parameters = {"population": 4, "elites": 1}
    search = replace(cast.agreement.search, populations="derived", parameters=parameters)
    store = Store.create(tmp_path, replace(cast.agreement, search=search), cast.signatures)
    state = AgreementState(store, node=0, key=cast.sealing[0])
    state.inputs.frozen[0] = FrozenInputs("00", ())
    state.inputs.seed_contributions[0] = "00"
    return state


def begins(*used: tuple[int, bytes]) -> EpochBegins:
    return EpochBegins({0: list(used)}, {}, 0, "", b"")


def test_one_peer_of_three_uses_up_no_numbers(held: AgreementState) -> None:
    """It could use up all that the agreement allows, with one message."""
    honest = begins((1, b"a"))
    asyncio.run(held.epochs.hear([honest, begins((1, b"a"), (10, b"")), honest]))
    assert held.counters.by_objective[0].highest == 1


@pytest.mark.parametrize("liar", range(3))
def test_one_peer_of_three_invents_no_answer(held: AgreementState, liar: int) -> None:
    """Neither in place of one that was missed, nor to a population that nobody evaluated yet."""
    told = [[{0: TRUE}]] * 3
    told[liar] = [{0: FALSE}, {0: FALSE}, {0: FALSE}]
    asyncio.run(held.epochs.hear_missing([(begins(), AnswersTold(each)) for each in told]))
    assert [each.labels for each in held.store.answers.read()] == [TRUE.labels]


def test_what_two_peers_say_is_taken_over() -> None:
    """What only one honest peer has is asked for again; what all had, a liar cannot deny."""
    assert used_numbers([{0: [(7, b"a")]}, {0: [(7, b"b")]}, {}]) == {0: [(7, b"")]}
    assert used_numbers([{0: [(7, b"a")]}, {0: [(7, b"a"), (7, b"a")]}]) == {0: [(7, b"a")]}
    # They may have been asked at different times.
    late = (5, [{0: TRUE}])
    assert common_answers([(4, [{0: FALSE}, {0: TRUE}]), late, (4, [{0: FALSE}])]) == (
        4,
        [{0: FALSE}, {0: TRUE}],
    )
    assert common_answers([(4, [{0: TRUE}]), (4, [])]) == (4, [{0: TRUE}])


OLD, NEW = Attempt.of(4, 50, 0), Attempt.of(5, 60, 0)


def held_states_of_three(root: Path) -> AgreementState:
    cast = example_cast()
    terms = replace(cast.agreement.objectives[0], best="improvement")
    nodes = [*cast.agreement.nodes, cast.agreement.nodes[0]]
    agreement = replace(cast.agreement, objectives=[terms], nodes=nodes, on_loss="three")
    store = Store.create(root, agreement, cast.signatures)
    return AgreementState(store, node=0, key=cast.sealing[0])


def told(bests: Names, numbers: int = 5) -> EpochBegins:
    used = {0: [(number, bytes([number]) * 32) for number in range(1, numbers + 1)]}
    return EpochBegins(used, {}, 0, "", b"", bests_of_three=bests)


def share(components: int) -> ArithmeticShare:
    return ArithmeticShare({c: np.ones(1, dtype=np.uint64) for c in range(1, components + 1)})


def test_what_all_peers_have_is_handed_over(tmp_path: Path) -> None:
    state = held_states_of_three(tmp_path)
    best = state.counters.bests[0]
    best.keep(2, Attempt.of(2, 40, 0), share(3))
    run(state.epochs.hear([told({0: [OLD, NEW]}), told({0: [NEW, OLD]}), told({0: [NEW]})]))
    assert best.from_peers == [NEW]
    assert (best.newest, best.available[0]) == (NEW, NEW)
    assert best.before(6, NEW, begun=5) is None
    for number, parent in ((6, OLD), (5, OLD), (5, NEW), (6, Attempt.of(2, 40, 0))):
        with pytest.raises(RefusedError):
            best.before(number, parent, begun=5)
    # Once it has computed on from that, its own share counts.
    best.keep(6, Attempt.of(6, 70, 0), share(3))
    found = best.before(7, Attempt.of(6, 70, 0), begun=6)
    assert found is not None
    with pytest.raises(RefusedError):
        best.before(7, NEW, begun=6)


def test_nothing_is_taken_from_fewer_than_all(tmp_path: Path) -> None:
    """One of the three that has lost its state is no node that is back."""
    state = held_states_of_three(tmp_path)
    for peers in ([told({0: [NEW]})] * 2, [told({0: [NEW]}), told({0: [NEW]}), told({})]):
        run(state.epochs.hear(peers))
        assert state.counters.bests[0].from_peers == []


def test_one_of_three_tells_what_it_has_with_two_others(tmp_path: Path) -> None:
    state = held_states_of_three(tmp_path)
    best = state.counters.bests[0]
    best.keep(4, OLD, share(3))
    best.keep(5, NEW, share(2))
    said = run(state.epochs.tell(1))
    assert said.bests_of_three == {0: [NEW]}
    run(state.epochs.hear([told({0: [NEW]})] * 3))
    assert best.from_peers == []


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


def test_two_nodes_that_are_missed_at_once_are_not_both_lost(tmp_path: Path) -> None:
    """While this node waits for the one, it goes on without the other."""
    cast = example_cast()
    nodes = [*cast.agreement.nodes, cast.agreement.nodes[0]]
    agreement = replace(cast.agreement, nodes=nodes, on_loss="three")
    store = Store.create(tmp_path, agreement, cast.signatures)
    held = AgreementState(store, node=0, key=cast.sealing[0])

    async def is_gone(lost: int, *, grace: float) -> bool:
        held.epochs.begin(5)
        held.epochs.opened(5, 1)
        return True

    here: Any = SimpleNamespace(number=0, name="node 0", peers=SimpleNamespace(is_gone=is_gone))
    request = OpenEpoch(agreement=held.hash, epoch=6, without=2)
    with pytest.raises(RefusedError, match="went on without a node before"):
        run(open_epoch(here, held, request))
    assert (held.epochs.last, held.epochs.lost) == (5, 1)
