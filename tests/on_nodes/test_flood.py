"""One party floods a node with tiny frames: nobody is removed, and nobody waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress

import pytest

from tacit.errors import PeerError, RefusedError
from tacit.identity.config import parse_address
from tacit.local.cluster import LocalCluster
from tacit.mpc.transport import TlsLink, connect
from tacit.records.events import LinkLost
from tacit.records.messages import OpenEpoch, Ping
from tests.on_nodes.agreed_cluster import (
    AgreedCluster,
    ask,
    expected,
    make_clients,
    outcomes,
    populations,
    run,
)
from tests.on_nodes.altered_nodes import FLOOD, FLOODED, restart_flooding, tiny_frames
from tests.on_nodes.deadlines import AMPLE, takes_at_most
from tests.support.mending import starts, wait_for_start

pytestmark = pytest.mark.processes
GRACE = 3.0
"""Short beside the half minute for which such a flood once stopped a node."""


@pytest.fixture
def flooded(four: LocalCluster) -> Iterator[LocalCluster]:
    """Four nodes, of which node 0 floods node 2 when it is told to."""
    before = starts(four, 0)
    restart_flooding(four, 0, to=2)
    wait_for_start(four, 0, before)
    yield four
    four.kill(0)
    for name in (FLOOD, FLOODED):
        (four.folder / name).unlink(missing_ok=True)


def test_a_flood_of_tiny_frames_removes_no_honest_node(flooded: LocalCluster) -> None:
    """The liar and the platform say that node 2 is gone, while 475 kB arrive there."""
    agreed = AgreedCluster.draft(flooded, on_loss="three", grace_seconds=GRACE)
    first, second = populations(2)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            (flooded.folder / FLOOD).touch()
            async with asyncio.timeout(AMPLE):
                while not (flooded.folder / FLOODED).exists():
                    await asyncio.sleep(0.01)
            request = OpenEpoch(agreement=coordinator.hash, epoch=time.time_ns(), without=2)
            honest = [coordinator.clients[node] for node in (1, 3)]
            await coordinator.clients[0].ask(request)
            for answer in await outcomes(honest, lambda _: request):
                assert isinstance(answer, RefusedError)
                assert "node 2 answers" in answer.reason
            told = await evaluations.evaluate(second, until=time.monotonic() + AMPLE)
            assert told.without is None
            assert told.payload.labels == expected(agreed, second)

    run(attack())


@asynccontextmanager
async def platform_link(cluster: LocalCluster, node: int) -> AsyncIterator[TlsLink]:
    client = make_clients(cluster)[node]
    host, port = parse_address(cluster.config.nodes[node].address)
    link = await connect(host, port, peer=client.name, identity=client._identity)
    try:
        yield link
    finally:
        await link.close()


def test_a_platform_that_floods_a_node_is_cut_off_and_keeps_nobody_waiting(
    cluster: LocalCluster,
) -> None:
    async def flood() -> None:
        """344 kB, and the same again on a new link whenever the node has closed the last."""
        while True:
            async with platform_link(cluster, 0) as link:
                with suppress(PeerError):
                    for each in tiny_frames(4096, 2519):
                        await link.send(each, b"", timeout=AMPLE)
                        await asyncio.sleep(0)  # to hear that the node has closed it

    async def attack() -> None:
        (client, *_) = make_clients(cluster)
        await client.connect()
        flooding = asyncio.create_task(flood())
        for _ in range(20):
            with takes_at_most(1.0):
                await ask(client, Ping())
            await asyncio.sleep(0.05)
        agreed = AgreedCluster.draft(cluster)
        async with asyncio.timeout(AMPLE):
            while not any("without end" in why for why in reasons(agreed)):
                assert not flooding.done()
                await asyncio.sleep(0.05)
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)
        await client.disconnect()

    run(attack())


def reasons(agreed: AgreedCluster) -> list[str]:
    """Why links of node 0 ended."""
    return [event.what for event in agreed.node_log(0) if isinstance(event, LinkLost)]


async def longest_turn(turns: list[float]) -> None:
    """Note how much this process computed between two turns of its loop."""
    while True:
        before = time.process_time()
        await asyncio.sleep(0)
        turns.append(time.process_time() - before)


def test_a_node_that_floods_the_platform_makes_no_other_seem_silent(four: LocalCluster) -> None:
    before = starts(four, 0)
    restart_flooding(four, 0, to=None)
    wait_for_start(four, 0, before)
    agreed = AgreedCluster.draft(four, on_loss="three", grace_seconds=GRACE)
    first, second = populations(2)

    async def attack() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            turns: list[float] = []
            watching = asyncio.create_task(longest_turn(turns))
            (four.folder / FLOOD).touch()
            async with asyncio.timeout(AMPLE):
                while not (four.folder / FLOODED).exists():
                    await asyncio.sleep(0.01)
            told = await evaluations.evaluate(second, until=time.monotonic() + AMPLE)
            watching.cancel()
            # One turn took 7 s once, and every answer came as late; a large garbage collection
            # takes half a second.
            assert max(turns) < 2.0
            assert told.without is None
            assert told.payload.labels == expected(agreed, second)
            assert coordinator.loss.notes == []

    try:
        run(attack())
    finally:
        four.kill(0)
        for name in (FLOOD, FLOODED):
            (four.folder / name).unlink(missing_ok=True)
