"""Sealed searches whose nodes die or hang, and whose coordinators change."""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import replace

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import MpcError, PeerTimeoutError
from tacit.local.cluster import LocalCluster
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.deadlines import AMPLE, raises_in_time, takes_at_most
from tests.on_nodes.sealed_agreed_cluster import (
    ASSIGNMENTS,
    PROBLEMS,
    Twin,
    begin,
    draft,
    sealed,
    twin,
)


def test_another_coordinator_goes_on_with_what_was_begun(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["balanced"]()))

    async def taken_up(coordinator: Coordinator) -> SealedSearch:
        await coordinator.start_agreement(agreed.signatures, within=60)
        search = SealedSearch(coordinator, 0)
        await search.start(until=None)
        return search

    async def search() -> tuple[list[list[int]], Twin]:
        async with agreed.coordinator() as coordinator:
            first = await begin(agreed, coordinator)
            clear = twin(agreed, first.seed)
            await first.advance(20, 90, until=None)
            with pytest.raises(PeerTimeoutError):  # in mid-batch
                await first.advance(60, 80, until=time.monotonic() + 0.05)
        async with agreed.coordinator() as coordinator:
            second = await taken_up(coordinator)
            assert not second.opened
            assert second.step in (20, 80)
            if second.step == 20:
                assert (await second.advance(3, 33, until=None)).number == 80
            plans = [(await second.open(until=None)).plan]
        async with agreed.coordinator() as coordinator:
            third = await taken_up(coordinator)
            assert (third.opened, third.step) == (True, 80)
            plans.append((await third.open(until=None)).plan)
        return plans, clear

    plans, clear = run(search())
    clear.advance(20, horizon=90)
    clear.advance(60, horizon=80)
    assert plans == [clear.plan()] * 2


@pytest.mark.parametrize("all_at_once", [False, True])
def test_killed_nodes_come_back_and_the_search_goes_on(
    own_cluster: LocalCluster, all_at_once: bool
) -> None:
    settings = replace(ASSIGNMENTS, lag=int(all_at_once))
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()), settings)

    async def search() -> tuple[list[int], Twin]:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            for number in range(4):
                waiting = asyncio.ensure_future(
                    on_nodes.advance(20, 80, until=time.monotonic() + AMPLE)
                )
                if number in (1, 2):  # in mid-batch
                    await asyncio.sleep(0.04 * number)
                    for node in range(3) if all_at_once else [number]:
                        own_cluster.kill(node)
                        own_cluster.restart(node)
                await waiting
            return (await on_nodes.open(until=None)).plan, clear

    plan, clear = run(search())
    clear.advance(80, horizon=80)
    assert plan == clear.plan()


def test_a_stopped_node_is_named_by_the_deadline_and_welcome_back(
    own_cluster: LocalCluster,
) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(10, 60, until=None)
            await on_nodes.advance(10, 60, until=None)
            own_cluster.processes[1].send_signal(signal.SIGSTOP)
            await raises_in_time(
                lambda until: on_nodes.advance(30, 60, until=until), "node 1", seconds=0.7
            )
            own_cluster.processes[1].send_signal(signal.SIGCONT)
            # What was begun is brought to its end, whatever is asked for instead.
            done = await on_nodes.advance(5, 60, until=time.monotonic() + 60)
            assert done.number == 50
            await on_nodes.advance(10, 60, until=time.monotonic() + 60)
            clear.advance(60, horizon=60)
            assert (await on_nodes.open(until=None)).plan == clear.plan()

    run(search())


def test_a_new_coordinator_goes_on_where_the_old_one_left(cluster: LocalCluster) -> None:
    agreed = draft(cluster, sealed(PROBLEMS["tour"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            first = await begin(agreed, coordinator)
            clear = twin(agreed, first.seed)
            await first.advance(10, 30, until=None)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            second = SealedSearch(coordinator, 0)
            await second.start(until=None)
            assert second.step == 10
            await second.advance(20, 30, until=None)
            clear.advance(30, horizon=30)
            assert (await second.open(until=None)).plan == clear.plan()

    run(search())


@pytest.mark.parametrize("node", [0, 1, 2])
def test_two_nodes_open_what_all_three_found(own_cluster: LocalCluster, node: int) -> None:
    agreed = draft(own_cluster, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(10, 20, until=None)
            own_cluster.kill(node)
            await raises_in_time(
                lambda until: on_nodes.advance(10, 20, until=until), f"node {node}", seconds=0.6
            )
            with takes_at_most(2.0):
                opened = await on_nodes.open(until=time.monotonic() + AMPLE)
            assert opened.step == 10
            clear.advance(10, horizon=20)
            assert opened.plan == clear.plan()
            # One node alone opens nothing.
            own_cluster.kill((node + 1) % 3)
            with pytest.raises(MpcError):
                await on_nodes.open(until=time.monotonic() + 0.5)

    run(search())
