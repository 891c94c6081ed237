"""What a coordinator says at a deadline, and whom it waits for, where nodes wait for a core."""

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
from tacit.errors import MismatchError, PeerLostError, PeerTimeoutError
from tests.coordinator.test_heard_evidence import PAIR
from tests.records.test_evidence import CAST, signed


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
    loss: Any = SimpleNamespace(members=clients, is_proven=False)
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
