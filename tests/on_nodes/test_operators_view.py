"""What an operator sees of a node: agreements, ends of links, clocks, and other versions."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import pytest

from tacit.errors import PeerError, VersionError
from tacit.local.cluster import LocalCluster
from tacit.node.own_log import Milestone
from tacit.records.events import (
    ClockCompared,
    Connected,
    LinkClosed,
    LinkLost,
    LinkRejected,
    LogEvent,
    NodeStarted,
)
from tacit.records.log import verify_log
from tacit.records.messages import End, Ping
from tests.conftest import RunTacit
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, make_clients, run
from tests.on_nodes.altered_nodes import CLOCK, restart_changed
from tests.on_nodes.deadlines import AMPLE
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed
from tests.support.mending import starts, wait_for_start

E = TypeVar("E", bound=LogEvent)
T = TypeVar("T")


def eventually(look: Callable[[], T]) -> T:
    """What a look finds, once it finds something."""
    deadline = time.monotonic() + AMPLE
    while not (found := look()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return found


class OwnLogs:
    """The nodes' own logs, without the lines of earlier tests."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._before = [len(self._lines(node)) for node in range(3)]

    def _lines(self, node: int) -> list[LogEvent]:
        log = self._cluster.folder / f"node-{node}.data" / "log.jsonl"
        return verify_log(log.read_bytes())

    def events(self, node: int, kind: type[E], peer: str) -> list[E]:
        """What a node has noted about the parties whose names begin so."""
        lines = self._lines(node)[self._before[node] :]
        found = [each for each in lines if isinstance(each, kind)]
        return [each for each in found if getattr(each, "peer", "").startswith(peer)]

    def ends(self, node: int, peer: str) -> list[type[LogEvent]]:
        found = self.events(node, LogEvent, peer)
        return [type(each) for each in found if isinstance(each, LinkClosed | LinkLost)]

    def is_linked(self, node: int, peer: int) -> bool:
        """Whether both have a link to each other, as they have noted since their last start."""

        def links(at: int, other: int) -> int:
            lines = self._lines(at)
            started = max(k for k, each in enumerate(lines) if isinstance(each, NodeStarted))
            about = [e for e in lines[started:] if getattr(e, "peer", "") == f"node {other}"]
            return sum(isinstance(e, Connected) for e in about) - sum(
                isinstance(e, LinkClosed | LinkLost) for e in about
            )

        return links(node, peer) == links(peer, node) == 1


@pytest.fixture
def changed(own_cluster: LocalCluster) -> Iterator[LocalCluster]:
    """Three nodes that a test may start again as others; the next test has real ones."""
    yield own_cluster
    (own_cluster.folder / CLOCK).unlink(missing_ok=True)
    for node in range(3):
        own_cluster.kill(node)


def start_again(cluster: LocalCluster, node: int, changes: Mapping[str, float]) -> None:
    """Start a changed node, and return when it listens."""
    before = starts(cluster, node)
    restart_changed(cluster, node, changes)
    wait_for_start(cluster, node, before)


def operators_lines(cluster: LocalCluster, node: int, agreed: AgreedCluster) -> list[Any]:
    """The lines about an agreement that a node wrote to standard error."""
    text = (cluster.folder / f"node-{node}.err").read_text()
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    name = agreed.folder_at(node).name
    return [line for line in lines if line.get("agreement", "").startswith(name)]


def test_a_node_says_once_how_far_each_agreement_has_come(changed: LocalCluster) -> None:
    start_again(changed, 0, {})
    agreed = draft(changed, sealed(PROBLEMS["balanced"]()))
    before = datetime.now(UTC) - timedelta(seconds=1)

    async def whole_run() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(3, 9, until=None)
            await search.advance(6, 9, until=None)
            await search.open(until=None)

    async def end() -> None:
        async with agreed.coordinator() as coordinator:
            over = End(agreement=coordinator.hash, nonce=agreed.agreement.nonce)
            await coordinator.clients[0].connect()
            await ask(coordinator.clients[0], over)

    run(whole_run())
    # What a node said before it was started again it does not say once more.
    start_again(changed, 0, {})
    run(end())
    lines = eventually(
        lambda: (
            (found := operators_lines(changed, 0, agreed))
            and found[-1]["event"] == Milestone.ENDED
            and found
        )
    )
    assert [line["event"] for line in lines] == [*Milestone]
    times = [datetime.fromisoformat(line["at"]) for line in lines]
    assert times == sorted(times)
    assert before < times[0] <= times[-1] < datetime.now(UTC) + timedelta(seconds=1)


def test_a_link_that_is_closed_is_told_apart_from_one_that_is_lost(changed: LocalCluster) -> None:
    for node in (0, 2):  # which keep their folder when they stop
        start_again(changed, node, {})
    logs = OwnLogs(changed)
    for peer in (1, 2):
        eventually(lambda peer=peer: logs.is_linked(0, peer))  # type: ignore[misc]
    before = {peer: len(logs.ends(0, f"node {peer}")) for peer in (1, 2)}

    async def come_and_go() -> None:
        client = make_clients(changed)[0]
        await client.connect()
        await ask(client, Ping())
        await client.disconnect()

    run(come_and_go())
    assert eventually(lambda: logs.ends(0, "platform")) == [LinkClosed]
    changed.kill(1)
    assert eventually(lambda: logs.ends(0, "node 1")[before[1] :]) == [LinkLost]
    os.kill(changed.processes[2].pid, signal.SIGTERM)
    assert eventually(lambda: logs.ends(0, "node 2")[before[2] :]) == [LinkClosed]


def test_another_version_is_refused_by_both_sides(changed: LocalCluster) -> None:
    """As in an upgrade of one node after the other, if the protocol has changed."""
    logs = OwnLogs(changed)
    start_again(changed, 2, {"tacit.mpc.transport.tls.PROTOCOL": 2})

    async def connect() -> None:
        client = make_clients(changed)[2]
        deadline = time.monotonic() + AMPLE
        while not client.is_other_version:
            assert time.monotonic() < deadline
            with pytest.raises(PeerError) as refused:
                await client.connect()
        assert isinstance(refused.value, VersionError)
        assert "speaks version 1; install the same release" in refused.value.what

    for node, peer in ((0, "node 2"), (1, "node 2"), (2, "node 0"), (2, "node 1")):
        version = 2 if node == 2 else 1

        def refusals(node: int = node, peer: str = peer) -> list[LinkRejected]:
            return logs.events(node, LinkRejected, peer)

        (line,) = eventually(refusals)
        assert f"speaks version {version}; install the same release" in line.what
    run(connect())
    (line,) = eventually(lambda: logs.events(2, LinkRejected, "platform"))
    assert "speaks version 2; install the same release" in line.what
    # They have tried again meanwhile, and have said it once.
    assert all(len(logs.events(node, LinkRejected, "node 2")) == 1 for node in (0, 1))


def test_a_clock_that_is_off_is_told_by_all_until_it_is_right(
    changed: LocalCluster, run_here: RunTacit
) -> None:
    logs, clock = OwnLogs(changed), changed.folder / CLOCK
    clock.write_text("100")
    start_again(changed, 1, {"tacit.node.server.LOOK_SECONDS": 0.05})

    def told(node: int) -> list[float]:
        return [round(each.ahead, -1) for each in logs.events(node, ClockCompared, "node 1")]

    assert eventually(lambda: told(0)) == eventually(lambda: told(1)) == [100]
    config = str(changed.folder / "node-1.toml")
    status = run_here("node", "status", "--config", config, "--json")
    assert status.returncode == 1
    assert [*json.loads(status.stdout)["clocks_ahead"]] == ["node 1"]
    clock.write_text("0")
    eventually(lambda: len(told(1)) == 2)
    assert told(1) == [100, 0]
    assert run_here("node", "status", "--config", config).returncode == 0
