"""Agreements that compute in processes of their own: the same plans, and nobody else's trouble."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tacit.agreement.sizes import working_bytes
from tacit.errors import MpcError
from tacit.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.records.messages import End
from tests.on_nodes.agreed_cluster import ask, run
from tests.on_nodes.altered_nodes import restart_changed
from tests.on_nodes.deadlines import AMPLE
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, twin
from tests.support.mending import starts, wait_for_start


def start_again(cluster: LocalCluster, node: int, changes: Mapping[str, float]) -> None:
    before = starts(cluster, node)
    restart_changed(cluster, node, changes)
    wait_for_start(cluster, node, before)


@pytest.fixture
def apart(own_cluster: LocalCluster) -> Iterator[LocalCluster]:
    """Three nodes that compute all sealed runs in processes."""
    for node in range(3):
        start_again(own_cluster, node, {"tacit.node.searching.LARGE_MESSAGE": -1})
    yield own_cluster
    for node in range(3):
        own_cluster.kill(node)


def children(pid: int) -> list[int]:
    """The processes of a process, and theirs."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    own = [int(each) for each in path.read_text().split()] if path.exists() else []
    return [each for child in own for each in (child, *children(child))]


def workers(cluster: LocalCluster, node: int) -> list[int]:
    """The workers of a node; the first of its processes is the one that they are forked from."""
    return children(cluster.processes[node].pid)[1:]


def until() -> float:
    return time.monotonic() + AMPLE


@pytest.mark.parametrize("name", [*PROBLEMS])
def test_processes_find_what_the_clear_search_finds(apart: LocalCluster, name: str) -> None:
    agreed = draft(apart, sealed(PROBLEMS[name]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(5, 9, until=None)
            assert all(workers(apart, node) for node in range(3))
            await on_nodes.advance(4, 9, until=None)
            opened = await on_nodes.open(until=None)
            clear.advance(9, horizon=9)
            assert (opened.plan, opened.outcome) == (clear.plan(), clear.outcome)

    run(search())


def test_a_process_that_is_killed_costs_its_own_agreement_an_attempt(apart: LocalCluster) -> None:
    agreed, other = (draft(apart, sealed(PROBLEMS["balanced"]())) for _ in range(2))
    nodes = [each.pid for each in apart.processes]

    async def search() -> None:
        async with agreed.coordinator() as coordinator, other.coordinator() as beside:
            on_nodes = await begin(agreed, coordinator)
            (own,) = workers(apart, 0)
            neighbour = await begin(other, beside)
            clear = twin(agreed, on_nodes.seed)
            kept = await beside.epoch()
            os.kill(own, signal.SIGSTOP)
            advancing = asyncio.ensure_future(on_nodes.advance(3, 9, until=until()))
            # It hangs, and the node and the other agreement do not.
            await neighbour.advance(9, 9, until=until())
            assert not advancing.done()
            os.kill(own, signal.SIGKILL)
            await advancing
            await on_nodes.advance(6, 9, until=until())
            opened = await on_nodes.open(until=None)
            clear.advance(9, horizon=9)
            assert opened.plan == clear.plan()
            assert await beside.epoch() == kept

    run(search())
    assert [each.pid for each in apart.processes] == nodes
    apart.check_alive()


def test_processes_of_agreements_that_have_ended_are_gone(apart: LocalCluster) -> None:
    agreed = draft(apart, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            await on_nodes.advance(1, 9, until=None)
            assert workers(apart, 0)
            over = End(agreement=coordinator.hash, nonce=agreed.agreement.nonce)
            await ask(coordinator.clients[0], over)

    run(search())
    deadline = time.monotonic() + AMPLE
    while workers(apart, 0):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # Nothing stays behind when a node is killed.
    left = children(apart.processes[1].pid)
    assert len(left) > 1
    apart.kill(1)
    while any(Path(f"/proc/{pid}").exists() for pid in left):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_one_agreement_that_needs_too_much_memory_stops_no_other(apart: LocalCluster) -> None:
    """A worker of node 0 gets no more than it has when it begins, and its steps are large."""
    large = draft(apart, sealed(generate_assignment(1, rows=300)))
    slack = -working_bytes(large.agreement)
    start_again(apart, 0, {"tacit.node.worker.SLACK_BYTES": slack})
    small = draft(apart, sealed(PROBLEMS["balanced"]()))
    node = apart.processes[0].pid

    async def search() -> None:
        async with large.coordinator() as coordinator, small.coordinator() as beside:
            with pytest.raises(MpcError, match="needs more memory than its agreement may take"):
                async with asyncio.timeout(AMPLE):
                    await begin(large, coordinator)
            on_nodes = await begin(small, beside)
            await on_nodes.advance(9, 9, until=None)
            assert (await on_nodes.open(until=None)).step == 9

    run(search())
    assert apart.processes[0].pid == node
    apart.check_alive()
