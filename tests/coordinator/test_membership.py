"""The platform names a node only by proof, or by its silence while the others answer."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.membership import Naming, Watch
from tacit.coordinator.node_client import NodeClient, ask_for_sealing_keys
from tacit.coordinator.secure import SecureEngine
from tacit.errors import MismatchError, PeerError, PeerLostError, PeerTimeoutError
from tests.records.test_evidence import CAST, WRONG, signed, statement

PAIR = statement(1, 3, (1, 2), lies={1: WRONG}), statement(2, 3, (1, 2))
AGAIN = (
    statement(1, 0, (1, 3), lies={3: WRONG}, exchange=2),
    statement(3, 0, (1, 3), exchange=2),
)
IRRELEVANT = [signed(statement(1, 3, (0, 1), exchange=n)) for n in range(9, 39)]


def mismatch(*evidence: bytes) -> MismatchError:
    return MismatchError("node 1", "node 2", evidence=evidence)


def test_attempts_are_signed_once_something_did_not_fit() -> None:
    naming = Naming(CAST.agreement)
    signs = []
    for reason in (PeerError("node 2", "is gone"), mismatch()):
        naming.hear(reason)
        signs.append(naming.signed)
    assert signs == [False, True]
    assert (naming.suspects, naming.named, naming.words) == (frozenset(), None, "")


def test_a_pair_names_nobody_and_two_pairs_do() -> None:
    naming = Naming(CAST.agreement)
    known = []
    for statements in (PAIR, PAIR, AGAIN):
        naming.hear(mismatch(*map(signed, statements)))
        known.append((set(naming.suspects), naming.named))
    assert known == [({1, 2}, None), ({1, 2}, None), ({1}, 1)]
    assert sorted(naming.evidence) == sorted(map(signed, (*PAIR, *AGAIN)))


def test_what_a_node_makes_up_changes_nothing() -> None:
    naming = Naming(CAST.agreement)
    forged = PAIR[1].encode() + signed(PAIR[0])[-64:]
    for evidence in ([signed(PAIR[0]), forged], [b""], [signed(PAIR[0])], IRRELEVANT):
        naming.hear(mismatch(*evidence))
        assert not naming.suspects
        assert not naming.evidence


def test_statements_that_prove_nothing_are_not_passed_on() -> None:
    """Whoever lies adds so many of them that a proof would be too long to be sent."""
    naming = Naming(CAST.agreement)
    naming.hear(mismatch(*IRRELEVANT, *map(signed, PAIR)))
    assert naming.evidence == [*map(signed, PAIR)]
    naming.hear(mismatch(*map(signed, AGAIN), *IRRELEVANT))
    assert naming.named == 1
    assert len(naming.evidence) == 4


def blamed(silent: list[float | None], *, pair: bool = False) -> str:
    """Who is named if nodes were silent for so long; one that is not connected has None."""
    clients: Any = [
        SimpleNamespace(
            name=f"node {number}",
            connected=seconds is not None,
            silent_for=lambda seconds=seconds: seconds or 0.0,
        )
        for number, seconds in enumerate(silent)
    ]
    loss: Any = SimpleNamespace(members=clients, awaited=clients, is_proven=False)
    naming = Naming(CAST.agreement)
    if pair:
        naming.hear(MismatchError("node 1", "node 2", evidence=[*map(signed, PAIR)]))
    return str(Watch(clients, loss, naming).blame(None))


def test_a_node_is_named_that_does_not_answer_while_the_others_do() -> None:
    assert "node 1: has not answered for 0.7 s" in blamed([0.3, 0.7, 0.0])
    # Who all got no core since the same question are not told apart.
    assert "the nodes: did not finish" in blamed([0.7, 0.71, 0.69])
    assert "the nodes: did not finish" in blamed([0.05, 0.0, 0.0])


def test_a_node_that_was_silent_for_a_moment_is_not_named_in_place_of_another() -> None:
    assert "node 2: cannot be reached" in blamed([0.3, 0.0, None])
    assert "departed from the protocol" in blamed([0.3, 0.0, 0.0, 0.0], pair=True)


def test_the_node_is_named_also_if_the_coordinators_own_thread_gets_no_core() -> None:
    clients = [NodeClient(number, "127.0.0.1:1", cast(Any, None), 0.0) for number in range(3)]
    for client in clients:
        client._line = cast(Any, SimpleNamespace(mux=SimpleNamespace(failure=None)))
    clients[1]._asked_at = time.monotonic() - 1.0
    engine: Any = SimpleNamespace(_coordinator=Coordinator(CAST.agreement, clients))
    never: Future[None] = Future()
    with pytest.raises(PeerTimeoutError, match="node 1: has not answered for 1"):
        SecureEngine.wait(engine, never, until=time.monotonic())
    assert never.cancelled()


class BusyNode:
    """A node that shakes hands late."""

    name = "node 0"

    def __init__(self, late: int) -> None:
        self.late = late

    async def connect(self) -> None:
        self.late -= 1
        if self.late >= 0:
            await asyncio.sleep(0)
            raise PeerTimeoutError(self.name, "did not answer for 2 s")
        raise PeerLostError(self.name, "reached at last")


def test_a_busy_node_is_asked_for_its_sealing_key_until_the_time_is_over() -> None:
    async def ask(node: BusyNode, within: float) -> None:
        terms = CAST.agreement.nodes[:1]
        await ask_for_sealing_keys(cast(Any, [node]), terms, nonce="", platform="", within=within)

    with pytest.raises(PeerLostError, match="reached at last"):
        asyncio.run(ask(BusyNode(3), 60.0))
    with pytest.raises(PeerTimeoutError, match="node 0"):
        asyncio.run(ask(BusyNode(1_000_000), 2.1))


def test_giving_up_on_a_node_that_is_being_left_cancels_nothing_for_those_after() -> None:
    """A link closes slowly; who waits too briefly to reach its node again must not break it."""

    class ClosesSlowly(NodeClient):
        async def disconnect(self) -> None:
            await asyncio.sleep(0.05)

    async def reach_twice() -> None:
        client = ClosesSlowly(0, "127.0.0.1:1", cast(Any, None), 0.0)
        client._line = cast(Any, SimpleNamespace(mux=SimpleNamespace(failure=None)))
        client.give_up()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await client.connect()
        await client.connect()

    asyncio.run(reach_twice())
