"""The first release with a run under way, upgraded to this version as docs/deploy.md says.

`UPGRADE_FROM=COMMIT make upgrade-test` begins with that commit, which must have the same formats.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.local.cluster import free_addresses
from tests.deployment.deployment import Deployment
from tests.deployment.earlier import commit_of, earlier_tacit
from tests.deployment.parties import TACIT, slots, typed

BASE = os.environ.get("UPGRADE_FROM", "v0.1.0")
LONG = 3000.0
GENETIC: dict[str, Any] = {
    "objective": {"disclosure": "top:15", "best": "value"},
    "parameters": {"population": 100, "elites": 15},
}


@pytest.fixture
def earlier(tmp_path: Path) -> Iterator[Deployment]:
    commit = commit_of(BASE)
    if commit is None:
        pytest.skip(
            f"the history here does not have {BASE}: it is not released yet, or not fetched; "
            "UPGRADE_FROM=COMMIT names an earlier commit with the same formats"
        )
    *addresses, platform = free_addresses(4)
    with Deployment(tmp_path, addresses, platform, tacit=earlier_tacit(commit)) as deployment:
        yield deployment


def upgrade(deployment: Deployment) -> None:
    """Nodes first, one after the other, then the platform."""
    for node in deployment.nodes:
        assert node.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        node.tacit = TACIT
        node.start()
    deployment.platform.end(signal.SIGTERM)
    deployment.platform.tacit = TACIT
    config = deployment.web / "service.toml"
    assert "up to date" in typed(TACIT, "service", "migrate", "--config", config)
    deployment.platform.start()
    for each in deployment.people:
        each.tacit = TACIT
    deployment.operator.wait_until_up(*deployment.servers)


def verify_by_files(deployment: Deployment, run: str) -> str:
    """What the nodes and the platform kept of a run, read and replayed."""
    operator = deployment.operator
    name = operator.run(run)["agreement_hash"]
    folders = [deployment.cluster / f"node-{i}.data" / name[:32] for i in range(3)]
    ledger = deployment.folder / f"{run}.jsonl"
    ledger.write_bytes(operator.fetch(f"/runs/{run}/ledger"))
    words = ["log", "replay", folders[0] / "log.jsonl", "--ledger", ledger]
    agreement = deployment.folder / f"{run}.json"
    agreement.write_bytes(operator.fetch(f"/runs/{run}/agreement"))
    words += ["--agreement", agreement]
    for folder in folders[1:]:
        words += ["--other", folder / "log.jsonl"]
    return typed(TACIT, *words)


def begun(deployment: Deployment, terms: dict[str, Any]) -> str:
    run = deployment.start_run(terms)
    deployment.operator.until(run, lambda found: found["progress"] is not None)
    return run


def test_what_was_before_is_there_afterwards(earlier: Deployment) -> None:
    operator = earlier.operator
    ended = earlier.start_run(slots(12, 4.0, **GENETIC))
    operator.wait(ended, "finished")
    before = operator.call("GET", f"/runs/{ended}/result")
    under_way = begun(earlier, slots(12, LONG, **GENETIC))
    reached = operator.run(under_way)["progress"]["generation"]
    upgrade(earlier)
    after = operator.call("GET", f"/runs/{ended}/result")
    assert after["plan"]["items"] == before["plan"]["items"]
    assert "are those of the agreed search" in verify_by_files(earlier, ended)
    earlier.check_by_participants(ended)
    # It goes on from its checkpoint, by itself.
    operator.until(under_way, lambda found: found["progress"]["generation"] > reached)
