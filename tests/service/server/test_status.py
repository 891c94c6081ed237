"""`tacit service status`: what an operator sees of a platform, and of one that is down."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from tacit import files
from tacit.identity.cluster import write_cluster
from tacit.local.cluster import LocalCluster, free_addresses
from tacit.service.server.settings import load_settings
from tacit.service.server.status import service_status
from tacit.service.storage import Notice, PlatformWorker, Run, StandingSeries
from tests.service.world import World, served
from tests.support.command_line import Tacit, commands_here
from tests.support.platform import generous

DAY = 86_400.0


@pytest.fixture
def tacit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Tacit:
    monkeypatch.setattr(files, "DISK_PART", 1.0)  # this machine's disk is another matter
    return commands_here(capsys, monkeypatch)


def looked(tacit: Tacit, config: Path) -> tuple[int, dict[str, Any], str]:
    """The exit code of the command, its JSON, and its first line for people."""
    said = tacit("service", "status", "--config", config, "--json")
    shown = tacit("service", "status", "--config", config)
    assert shown.code == said.code
    return said.code, json.loads(said.out), shown.out.splitlines()[0]


@pytest.mark.processes
def test_a_platform_is_well_until_something_needs_attention(
    own_cluster: LocalCluster, tmp_path: Path, tacit: Tacit
) -> None:
    settings = generous(tmp_path / "platform", own_cluster.folder / "cluster.toml")
    config = tmp_path / "platform" / "service.toml"
    with served(settings) as world:
        world.add("op", "operator")
        # The stand-in executes nothing, and so does nobody else.
        assert looked(tacit, config)[2].startswith("critical: no process executes runs")
        with world.platform.database.writing() as session:
            session.add(PlatformWorker(name="host:1:ab", since=0.0, seen=time.time() + DAY))
        waits = world.submitted(name="waits")
        code, seen, first = looked(tacit, config)
        assert (code, seen["critical"], seen["warnings"]) == (0, [], []), seen
        assert first.startswith("ok: ")
        assert [(run["id"], run["waits_for"]) for run in seen["runs"]] == [(waits, "a slot")]
        assert all(node["reachable"] for node in seen["clusters"][0]["nodes"])

        stuck = world.ended("interrupted", name="stuck")
        code, seen, first = looked(tacit, config)
        assert (code, len(seen["warnings"]), stuck in first) == (1, 1, True)
        late = world.submitted(name="late")
        world.run_to(late, "running")
        code, seen, first = looked(tacit, config)
        assert (code, len(seen["critical"]), late in first) == (2, 1, True)
        check_dates(world, config)
    code, seen, first = looked(tacit, config)
    assert (code, seen["answers"], len(seen["critical"])) == (2, False, 2)
    assert first.startswith(f"critical: nothing answers at {settings.listen}")


def check_dates(world: World, config: Path) -> None:
    """What is due or expires, as it will be at other times."""
    settings, now = load_settings(config), time.time()
    series = world.agreed_series()
    with world.platform.database.writing() as session:
        is_this = StandingSeries.id == series
        session.execute(update(StandingSeries).where(is_this).values(next_at=now + 3600))
        session.execute(update(Run).where(Run.state == "interrupted").values(state="failed"))
        data = {"run": "r-x"}
        for error in (None, "no answer"):
            session.add(
                Notice(
                    account="op",
                    kind="failed",
                    at=now,
                    data=data,
                    attempts=int(error is not None),
                    next_at=now + 9 * DAY,
                    error=error,
                )
            )
    soon = service_status(settings, config, now=now + 1)
    assert [each.next_at for each in soon.series] == [now + 3600]
    assert [word in " ".join(soon.warnings) for word in ("has failed", "nobody delivers")] == [
        True,
        False,
    ]
    later = service_status(settings, config, now=now + 3700)
    assert len(later.critical) == len(soon.critical) + 1
    assert any(series in each for each in later.critical)
    assert any("nobody delivers" in each for each in later.warnings)
    (expires,) = {run.expires for run in soon.runs if run.state == "submitted"}
    assert expires is not None
    expiring = service_status(settings, config, now=expires - 3600)
    assert any("expires in 1.0 hours" in each for each in expiring.warnings)
    signed_out = service_status(settings, config, now=now + 40 * DAY)
    assert any("no operator is signed in" in each for each in signed_out.warnings)
    year = service_status(settings, config, now=now + 350 * DAY)
    assert sum("certificate" in each for each in year.warnings) == len(year.certificates) == 5
    gone = service_status(settings, config, now=now + 366 * DAY)
    assert sum("certificate" in each for each in gone.critical) == 5


def test_nodes_that_are_away_and_open_rotations_are_shown(tmp_path: Path, tacit: Tacit) -> None:
    nodes = write_cluster(tmp_path / "cluster", free_addresses(3))[-1]
    settings = generous(tmp_path / "platform", nodes)
    config = tmp_path / "platform" / "service.toml"
    code, seen, _ = looked(tacit, config)
    assert (code, len(seen["critical"]), seen["rotations"]) == (2, 5, {})
    steps = ("prepare", "switch", "finish")
    for done, following in zip(steps, (*steps[1:], None), strict=True):
        for file in (nodes, config):
            assert tacit("keys", "rotate", file, done).code == 0
        found = service_status(load_settings(config), config, now=time.time()).rotations
        named = {str(nodes.absolute()): following, str(config): following}
        assert found == {file: step for file, step in named.items() if step is not None}
    Path(settings.database_url.removeprefix("sqlite:///")).unlink()
    assert tacit("service", "status", "--config", config).code == 2
