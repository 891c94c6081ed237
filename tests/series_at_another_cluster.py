"""A series goes on at another cluster: the platform carries the balances with its first run.

`make equity-test` runs it, with a real platform and real nodes, of which one is away for a while.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.engine.agreement.sealing import seal_rows
from tacit.engine.agreement.terms import read_agreement
from tacit.engine.local import free_addresses
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.node.kept_series import FOLDER
from tacit.engine.node.state.equity.kept_book import KeptBook
from tacit.engine.series import read_series, series_hash
from tacit.mpc.equity import empty_book
from tacit.mpc.local import reveal
from tacit.service.execution.executor import Executor
from tacit.service.server.app import make_app
from tacit.service.server.new_settings import write_settings
from tacit.service.server.settings import load_settings
from tests.service.api.test_series import cancel, next_run, with_equity
from tests.service.world import World, opened
from tests.support.mending import mend

pytestmark = pytest.mark.processes

NAMES = ("north", "south", "outsider")
PATIENCE = 180.0


def wait_for(what: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE
    while not (found := what()):
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.2)
    return found


def signed_series(world: World, **changes: Any) -> str:
    made = world.ok(
        "POST", "/series", "op", json=with_equity(run={"deadline_seconds": 1.5}, **changes)
    )
    for name, code in made["invitations"].items():
        world.join(name, code, key=True)
    for name in NAMES:
        world.sign_series(made["id"], name)
    return str(made["id"])


def finish(world: World, run: str) -> None:
    """Everybody signs and seals, and the run comes to its end."""
    shown = f"/runs/{run}/agreement"
    data = wait_for(lambda: _there(world.call("GET", shown, "north")))
    agreement = read_agreement(data)
    for name in NAMES:
        body = {"signature": world.signature(run, name)}
        world.ok("POST", f"/runs/{run}/signature", name, json=body)
    for place, name in enumerate(NAMES):
        rows = len(agreement.rows_of(name, 0))
        weights = np.random.default_rng(place).integers(0, 1000, (rows, 4))
        sealed = seal_rows(agreement, name, 0, weights, key=world.keys[name].signing)
        boxes = [b64encode(box).decode() for box in sealed.boxes]
        given: dict[str, Any] = {"objective": 0, "boxes": boxes}
        given |= {"manifest": sealed.manifest.hex(), "signature": sealed.signature.hex()}
        world.ok("POST", f"/runs/{run}/submission", name, json=given)
    state = wait_for(lambda: _end(world.ok("GET", f"/runs/{run}", "op")))
    assert state["state"] == "finished", state


def _there(answer: Any) -> bytes | None:
    return answer.content if answer.is_success else None


def _end(shown: dict[str, Any]) -> dict[str, Any] | None:
    return shown if shown["state"] in ("finished", "failed", "cancelled") else None


def steps(world: World, series_id: str, cluster: LocalCluster) -> dict[str, list[int]]:
    """Everybody's own steps, as the nodes of a cluster have them together."""
    data = world.call("GET", f"/series/{series_id}/document", "north").content
    series = read_series(data)
    books = [
        KeptBook(
            cluster.folder / f"node-{node}.data" / FOLDER / series_hash(series) / "book",
            empty_book(node, 3, NAMES),
        ).book
        for node in range(3)
    ]
    assert len({book.head for book in books}) == 1
    return {name: reveal([book.own_steps(name) for book in books]).tolist() for name in NAMES}


def test_a_series_goes_on_at_another_cluster(
    tmp_path: Path, own_cluster: LocalCluster, cluster: LocalCluster
) -> None:
    clusters = [each.folder / "cluster.toml" for each in (own_cluster, cluster)]
    path = write_settings(tmp_path / "platform", clusters=clusters, listen=free_addresses(1)[0])
    settings = replace(
        load_settings(path), requests_per_minute=10**6, anonymous_requests_per_minute=10**6
    )
    with opened(make_app(settings, execution=Executor)) as world:
        world.add("op", "operator")
        assert world.call("POST", "/series", "op", json=with_equity(cluster="x")).status_code == 404
        first = signed_series(world, cluster="cluster-1")
        finish(world, next_run(world, first)["id"])
        before = steps(world, first, own_cluster)
        assert any(step != [0] for step in before.values())

        given_up = signed_series(world, continues=first)
        cancel(world, next_run(world, given_up))  # before anybody has signed it
        own_cluster.kill(1)
        later = signed_series(world, cluster="cluster-2", continues=first)
        run = next_run(world, later)["id"]
        warnings = wait_for(lambda: world.ok("GET", f"/runs/{run}", "op")["warnings"])
        assert "node 1 of the earlier series, at 127.0.0.1:" in warnings[0]
        mend(own_cluster)
        finish(world, run)
        after = steps(world, later, cluster)
    assert {name: own[:1] for name, own in after.items()} == before
    assert all(len(own) == 2 for own in after.values())
