"""The platform's picture of its nodes: their presence, and clocks that are off."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tacit.local.cluster import LocalCluster
from tacit.service.execution import cluster_links
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.server.app import make_app
from tests.service.world import executing, opened
from tests.support.cpu_waits import CpuWaits
from tests.support.platform import generous

pytestmark = pytest.mark.processes
DELAY_SECONDS = 0.02


def test_nothing_is_drawn_up_that_a_node_would_refuse_when_all_have_signed(tmp_path: Path) -> None:
    with LocalCluster(any_search=False) as cluster:
        settings = generous(tmp_path / "platform", cluster.folder / "cluster.toml")
        with opened(make_app(settings, execution=executing)) as world:
            world.add("op", "operator")
            run_id = world.invited()
            end = time.monotonic() + 120
            while not (shown := world.ok("GET", f"/runs/{run_id}", "op"))["warnings"]:
                assert time.monotonic() < end, "nobody tries to draw it up"
                time.sleep(0.02)
            agreement = world.call("GET", f"/runs/{run_id}/agreement", "north")
    said = "the agreement cannot be drawn up: node 0 refuses: nobody measured"
    assert [warning[: len(said)] for warning in shown["warnings"]] == [said]
    assert "this is retried" not in shown["warnings"][0]
    assert agreement.status_code == 404


def test_who_is_there_and_whose_clock_is_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(cluster_links, "LOOK_SECONDS", 60.0)

    async def unchanged(*, within: float) -> float:
        return within

    async def look(cluster: LocalCluster) -> float:
        links = ClusterLinks("main", cluster.folder / "cluster.toml", slots=4)
        assert [node.reachable for node in links.status(running=0, waiting=0).nodes] == [False] * 3
        await links.look()
        status = links.status(running=1, waiting=2)
        assert all(node.reachable for node in status.nodes)
        while any(abs(client.clock_offset or 9.0) >= 1 for client in links._clients):
            await links.look()  # a slow answer is imprecise
        assert links.clock_warnings() == {}
        while links.delay < DELAY_SECONDS:  # they measure it when they meet
            await links.look()
        told = [node.round_trip_seconds or 0.0 for node in links.status(running=0, waiting=0).nodes]
        assert links.delay == min(1, max(told) / 2)
        links._clients[1].round_trip = 1e9
        assert links.delay == 1

        links._clients[1].clock_offset = -3.25
        assert [*links.clock_warnings()] == [1]
        caplog.clear()
        links._clients[1].compare_clocks = unchanged  # type: ignore[method-assign]
        for _ in range(2):
            links._clients[1].clock_offset -= 0.25
            await links.look()
        assert [each.levelname for each in caplog.records].count("WARNING") == 1
        await asyncio.to_thread(cluster.kill, 2)
        await links.look()
        here = [node.reachable for node in links.status(running=0, waiting=0).nodes]
        assert here == [True, True, False]
        await links.stop()
        return max(told) / 2

    with CpuWaits() as waits, LocalCluster(delay_ms=1000 * DELAY_SECONDS) as cluster:
        begun = time.monotonic()
        delay = asyncio.run(asyncio.wait_for(look(cluster), 300))
        ended = time.monotonic()
    assert delay < 1 + waits.between(begun, ended)
