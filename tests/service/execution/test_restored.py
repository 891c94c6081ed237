"""A backup that was made in mid-run: the platform that is restored from it goes on with the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from studies.benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.records.events import EvaluationBegun
from tacit.records.ledger import read_ledger
from tacit.records.log import verify_log
from tacit.service.server.backup import back_up, restore
from tacit.service.server.settings import load_settings
from tests.on_nodes.entries import evaluations_in
from tests.service.execution.punctual import caught
from tests.service.execution.test_live import at_nodes, check_record, followed, poll, submitted

pytestmark = pytest.mark.processes


def all_is_stored(live: LivePlatform, run_id: str) -> bool:
    """Whether nodes were asked for at most one evaluation more than is stored."""
    logs = [path.read_bytes() for path in at_nodes(live, run_id, "/log.jsonl")]
    asked = {
        event.number
        for log in logs
        for event in verify_log(log)
        if isinstance(event, EvaluationBegun)
    }
    ledger = read_ledger(live.call("GET", f"/runs/{run_id}/ledger", "north"))
    return len(evaluations_in(ledger)) >= max(asked) - 1


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
    stopped = live.workers()
    live.stop_workers()
    poll(live, lambda: all_is_stored(live, run_id))
    with (tmp_path / "backup").open("wb") as file:
        back_up(live.settings, live.config, file)
    stored = live.run(run_id)["progress"]["evaluations"]
    assert stored >= 4
    live.kill()
    poll(live, lambda: not any(Path(f"/proc/{each}").exists() for each in stopped))
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
