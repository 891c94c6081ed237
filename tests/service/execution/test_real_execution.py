"""The API with the real execution, whose nodes cannot be reached."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tests.service.stand_in import StandIn
from tests.service.world import World, executing, opened

pytestmark = pytest.mark.slow


@contextmanager
def agreed_before(settings: Settings, runs: int) -> Iterator[tuple[World, list[str]]]:
    """A platform whose nodes went away after agreements were drawn up and signed."""
    with opened(make_app(settings, execution=StandIn)) as before:
        before.add("op", "operator")
        ids = [before.agreed() for _ in range(runs)]
    with opened(make_app(settings, execution=executing)) as world:
        world.tokens, world.keys = before.tokens, before.keys
        yield world, ids


def test_runs_can_be_left_and_cancelled_while_nodes_are_away(settings: Settings) -> None:
    with agreed_before(settings, 3) as (world, (left, cancelled, kept)):
        gone = world.ok("POST", f"/runs/{left}/withdraw", "north")
        assert (gone["state"], gone["reason"]) == ("cancelled", "north has withdrawn")
        assert world.ok("POST", f"/runs/{cancelled}/cancel", "op")["state"] == "cancelled"
        body = world.sealed(kept, "south")
        assert (
            world.ok("POST", f"/runs/{kept}/submission", "south", json=body)["state"] == "waiting"
        )
        cluster = world.ok("GET", "/clusters", "north")[0]
        assert [node["reachable"] for node in cluster["nodes"]] == [False] * 3
    _is_kept(settings, world, kept)


def _is_kept(settings: Settings, before: World, run_id: str) -> None:
    with opened(make_app(settings, execution=executing)) as world:
        world.tokens = before.tokens
        assert world.ok("GET", f"/runs/{run_id}", "op")["state"] == "agreed"
        assert world.ok("GET", f"/runs/{run_id}/submission", "south")[0]["state"] == "waiting"


def test_logs_of_nodes_that_are_away_are_said_to_be_so(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.service.execution.api_execution.LOG_SECONDS", 0.3)
    with agreed_before(settings, 1) as (world, (run_id,)):
        early = world.call("POST", f"/runs/{run_id}/logs", "north", json={"nonce": "ab" * 16})
        assert early.status_code == 409


def test_an_agreement_waits_for_nodes_that_are_away(settings: Settings) -> None:
    with opened(make_app(settings, execution=executing)) as world:
        world.add("op", "operator")
        run_id = world.invited()
        end = time.monotonic() + 120
        while not (shown := world.ok("GET", f"/runs/{run_id}", "op"))["warnings"]:
            assert time.monotonic() < end, "nobody tries to draw it up"
            time.sleep(0.02)
        assert shown["state"] == "invited"
        warning = shown["warnings"][0]
        assert "the agreement cannot be drawn up: node" in warning
        assert "this is retried" in warning
        world.refused("not_found", "GET", f"/runs/{run_id}/agreement", "north")
