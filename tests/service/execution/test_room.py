"""Places at nodes: one sealing key per run, asked of all or nobody, and given back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tacit.agreement import canonical, weights_bytes
from tacit.errors import RefusedError
from tacit.local.cluster import LocalCluster
from tacit.node.keys import SEALING_KEYS, stored_keys
from tacit.records import RefusalKind
from tacit.service.execution import drafter, executor, patience
from tacit.service.execution.cluster_links import ClusterLinks
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.patience import Patience
from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tacit.service.storage import set_state
from tacit.service.workflow.inviting import TEXT_MARGIN
from tests.service.world import World, executing, opened
from tests.support.platform import generous

pytestmark = pytest.mark.processes


def until(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "RETRY_SECONDS", (0.05,))
    monkeypatch.setattr(executor, "LOOK_EVERY_SECONDS", 0.1)


@pytest.fixture(scope="module")
def nodes() -> Iterator[LocalCluster]:
    with LocalCluster() as cluster:
        yield cluster


@pytest.fixture
def settings(nodes: LocalCluster, tmp_path: Path) -> Settings:
    return generous(tmp_path / "platform", nodes.folder / "cluster.toml")


@contextmanager
def platform(settings: Settings, before: World | None = None) -> Iterator[World]:
    with opened(make_app(settings, execution=executing)) as world:
        if before is None:
            world.add("op", "operator")
        else:
            world.tokens, world.keys = before.tokens, before.keys
        yield world


def keys_at(nodes: LocalCluster) -> list[set[str]]:
    """The names of all sealing keys, by node."""
    folders = [nodes.folder / f"node-{node}.data" / SEALING_KEYS for node in range(3)]
    return [{path.name for path in folder.glob("[!.]*")} for folder in folders]


def warnings_of(world: World, run_id: str) -> list[str]:
    found: list[str] = world.ok("GET", f"/runs/{run_id}", "op")["warnings"]
    return found


def is_drafted(world: World, run_id: str) -> bool:
    return world.ok("GET", f"/runs/{run_id}", "op")["agreement_hash"] is not None


def cancel(world: World, run_id: str) -> None:
    world.ok("POST", f"/runs/{run_id}/cancel", "op", json={})


def test_a_run_takes_one_key_per_node_however_often_it_is_retried(
    nodes: LocalCluster, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[str] = []
    ask = drafter.Drafter._once

    async def counted(self: drafter.Drafter, run: HeldRun, links: ClusterLinks) -> None:
        attempts.append(run.id)
        await ask(self, run, links)

    monkeypatch.setattr(drafter.Drafter, "_once", counted)
    before = keys_at(nodes)
    nodes.kill(2)
    with platform(settings) as world:
        run_id = world.invited()
        until(lambda: len(attempts) >= 4)
        assert keys_at(nodes) == before  # nobody is asked unless all are there
    nodes.restart(2)
    # It is the same nonce after a restart of the platform: here the nodes answer, and their keys
    # come to nothing at first.
    with monkeypatch.context() as refusing:

        def refuse(*_: object) -> None:
            raise TimeoutError

        refusing.setattr(drafter, "check_nodes_allow", refuse)
        with platform(settings, world) as again:
            attempts.clear()
            until(lambda: len(attempts) >= 3 and keys_at(nodes) != before)
    drawn = [now - then for now, then in zip(keys_at(nodes), before, strict=True)]
    assert [len(each) for each in drawn] == [1, 1, 1]
    with platform(settings, world) as again:
        until(lambda: is_drafted(again, run_id))
        assert warnings_of(again, run_id) == [], "what held it up is over"
        assert [now - then for now, then in zip(keys_at(nodes), before, strict=True)] == drawn
        cancel(again, run_id)
        until(lambda: keys_at(nodes) == before)


def test_keys_of_cancelled_runs_are_given_back(
    nodes: LocalCluster, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one that was drafted and not signed by all, and of one that was never drafted."""
    before = keys_at(nodes)
    with platform(settings) as world:
        drafted = world.invited()
        until(lambda: is_drafted(world, drafted))
        assert [len(each) for each in keys_at(nodes)] == [len(each) + 1 for each in before]
        cancel(world, drafted)
        until(lambda: keys_at(nodes) == before)

        def refuse(*_: object) -> None:
            raise TimeoutError

        monkeypatch.setattr(drafter, "check_nodes_allow", refuse)
        never = world.invited()
        until(lambda: keys_at(nodes) != before)
        # As when a series begins its next run: in the database alone.
        with world.platform.database.writing() as session:
            set_state(session, never, "failed", reason="its agreement expired")
        until(lambda: keys_at(nodes) == before)


def test_room_is_kept_for_all_that_an_agreement_will_take(
    nodes: LocalCluster, settings: Settings
) -> None:
    """Of a run alone and of one of a series; both are drafted on placeholders first."""
    folder = nodes.folder / "node-0.data" / SEALING_KEYS
    before = keys_at(nodes)
    with platform(settings) as world:
        series = world.agreed_series()
        of_series = world.ok("POST", f"/series/{series}/runs", "op", json={})["id"]
        for run_id in (world.invited(), of_series):
            until(partial(is_drafted, world, run_id))
            agreement = world.agreement(run_id)
            (kept,) = [
                key for _, key in stored_keys(folder) if key and key.nonce == agreement.nonce
            ]
            length = len(canonical(agreement))
            assert length <= kept.text <= length + 2 * TEXT_MARGIN
            assert kept.rows == weights_bytes(agreement) > 0
            cancel(world, run_id)
        until(lambda: keys_at(nodes) == before)


def test_a_full_node_is_named_before_anybody_signs_and_not_asked_for_ever(
    nodes: LocalCluster, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = nodes.folder / "node-1.toml"
    as_before, before = config.read_text(), keys_at(nodes)
    nodes.kill(1)
    config.write_text(f"most_agreements = {len(before[1]) + 1}\n{as_before}")
    nodes.restart(1)
    try:
        with platform(settings) as world:
            first = world.invited()
            until(lambda: is_drafted(world, first))
            second = world.invited()
            until(lambda: warnings_of(world, second))
            assert "node 1 refuses" in warnings_of(world, second)[0]
            node = world.ok("GET", "/clusters", "op")[0]["nodes"]
            until(lambda: world.ok("GET", "/clusters", "op")[0]["nodes"][1]["room_used"] == 1.0)
            node = world.ok("GET", "/clusters", "op")[0]["nodes"][1]
            assert node["scarcest"] == "most_agreements"
            metrics = world.call("GET", "/metrics", "op").text
            assert 'tacit_node_room_used_ratio{cluster="cluster",node="1"} 1.0' in metrics
            # As after an hour.
            monkeypatch.setattr(patience, "FULL_SECONDS", 0.0)
            until(lambda: world.ok("GET", f"/runs/{second}", "op")["state"] == "failed")
            reason = world.ok("GET", f"/runs/{second}", "op")["reason"]
            assert "node 1 refuses" in reason
            assert "there was no room for an hour" in reason
            # Its keys at the other nodes went back, and the room of the first one is there again.
            taken = [len(each) + 1 for each in before]
            until(lambda: [len(each) for each in keys_at(nodes)] == taken)
            cancel(world, first)
            until(lambda: keys_at(nodes) == before)
    finally:
        nodes.kill(1)
        config.write_text(as_before)
        nodes.restart(1)


def test_patience_ends_an_hour_after_a_node_became_full_and_begins_anew_with_any_other_error() -> (
    None
):
    now = 0.0
    waiting = Patience(clock=lambda: now)
    full, pace = (RefusedError("node 0", "", kind=k) for k in (RefusalKind.FULL, RefusalKind.PACE))
    assert not waiting.is_over(full)
    now = 3599.0
    assert not waiting.is_over(full)
    assert not waiting.is_over(pace)
    now = 3601.0
    assert not waiting.is_over(full)
    now = 3601.0 + 3600.0
    assert waiting.is_over(full)
