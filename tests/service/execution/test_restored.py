"""A backup that was made in mid-run: the platform that is restored from it goes on with the run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from studies.benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.service.server.backup import back_up, restore
from tacit.service.server.settings import load_settings
from tests.service.execution.punctual import caught
from tests.service.execution.test_live import check_record, followed, poll, submitted

pytestmark = pytest.mark.processes


def stands_still(live: LivePlatform, run_id: str) -> None:
    """Wait until all that the run has evaluated is stored."""
    before = -1
    while (now := live.run(run_id)["progress"]["evaluations"]) != before:
        before = now
        time.sleep(1.5)


def test_a_run_under_way_goes_on_in_the_restored_platform(
    live: LivePlatform, tmp_path: Path
) -> None:
    run_id = caught(
        live,
        lambda deadline: submitted(live, deadline=deadline, best="improvement"),
        110.0,
        least=4,
    )
    # Nodes answer the last evaluation again, and no earlier one: the search stands still meanwhile.
    live.stop_workers()
    stands_still(live, run_id)
    with (tmp_path / "backup").open("wb") as file:
        back_up(live.settings, live.config, file)
    stored = live.run(run_id)["progress"]["evaluations"]
    assert stored >= 4
    live.kill()
    # The host is lost with all that it had; the certificate is the one that everybody pinned.
    live.config.parent.rename(live.folder / "lost")
    with (tmp_path / "backup").open("rb") as file:
        live.config = restore(file, live.folder / "platform")
    live.settings = load_settings(live.config)
    live.start()
    poll(live, lambda: live.run(run_id)["progress"]["evaluations"] > stored)
    live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})
    result = live.call("GET", f"/runs/{run_id}/result", "north")
    assert result["evaluations"] > stored
    assert followed(live, run_id) >= result["evaluations"]
    check_record(live, run_id, result)
