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


def test_a_platform_that_floods_a_node_keeps_nobody_else_waiting(cluster: LocalCluster) -> None:
    async def attack() -> None:
        (client, *_) = make_clients(cluster)
        await client.connect()
        async with platform_link(cluster, 0) as link:
            for each in tiny_frames(4096, 2519):  # 344 kB
                await link.send(each, b"", timeout=AMPLE)
            for _ in range(20):
                with takes_at_most(1.0):
                    await ask(client, Ping())
                await asyncio.sleep(0.05)
        await client.disconnect()

    run(attack())


def test_a_platform_that_floods_without_end_is_cut_off(cluster: LocalCluster) -> None:
    async def attack() -> None:
        async with platform_link(cluster, 0) as link:
            with suppress(PeerError):
                for each in tiny_frames(0, 1_000_000):
                    await link.send(each, b"", timeout=AMPLE)
                    # Where the node has closed the link, this end hears it while it waits.
                    await asyncio.sleep(0)

    run(attack())
    agreed = AgreedCluster.draft(cluster)
    deadline = time.monotonic() + AMPLE
    while time.monotonic() < deadline:
        lost = [e.what for e in agreed.node_log(0) if isinstance(e, LinkLost)]
        if any("without end" in what for what in lost):
            return
        time.sleep(0.05)
    pytest.fail("the log does not say that the link was closed")
