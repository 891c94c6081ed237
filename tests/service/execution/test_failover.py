"""Workers as real processes on PostgreSQL: killed and suspended ones lose their runs to others."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from studies.benchmarks.live_platform import LivePlatform

from tacit.agreement.terms import agreement_hash
from tacit.node.store import folder_name
from tacit.records.events import EvaluationBegun
from tacit.records.log import verify_log
from tacit.service.storage import Database, Run, read_run
from tests.service.execution.punctual import answered_on_time, finished
from tests.service.execution.test_live import check_record, followed, poll, submitted
from tests.service.postgres import new_database
from tests.support.cpu_waits import CpuWaits
from tests.support.processes import starts_processes

pytestmark = pytest.mark.processes

TAKEN_UP_SECONDS = 10.0
DEADLINE = 25.0


@pytest.fixture(scope="module")
@starts_processes
def parts(postgres_server: str) -> Iterator[LivePlatform]:
    """One API and two workers."""
    database = new_database(postgres_server)
    with LivePlatform(slots=2, delay_ms=2.0, database=database, workers=2) as running:
        yield running


def stored(parts: LivePlatform, run_id: str) -> Run:
    database = Database(parts.settings.database_url)
    try:
        with database.reading() as session:
            return read_run(session, run_id)
    finally:
        database.close()


def owner(parts: LivePlatform, run_id: str) -> int:
    """The process that has a run."""
    poll(parts, lambda: stored(parts, run_id).owner is not None)
    return int(str(stored(parts, run_id).owner).split(":")[1])


def under_way(parts: LivePlatform, deadline: float) -> str:
    """A run that has come to its fifth evaluation."""
    run_id = submitted(parts, deadline=deadline, best="improvement")
    poll(parts, lambda: ((parts.run(run_id)["progress"] or {}).get("evaluations") or 0) >= 5)
    return run_id


def taken_up(parts: LivePlatform, run_id: str, before: int) -> float:
    """Wait until another process has a run and has come further; the seconds until it had it."""
    begun = time.monotonic()
    with CpuWaits() as waits:
        poll(parts, lambda: owner(parts, run_id) != before)
        had = time.monotonic()
    assert had - begun - waits.between(begun, had) < TAKEN_UP_SECONDS
    far = parts.run(run_id)["progress"]["evaluations"]
    poll(parts, lambda: parts.run(run_id)["progress"]["evaluations"] > far + 1)
    return had - begun


def evaluated_once(parts: LivePlatform, run_id: str) -> None:
    """No node has begun an evaluation twice: what was repeated is logged as such."""
    name = folder_name(agreement_hash(parts.agreement(run_id, "north")))
    for node in range(3):
        path = parts.clusters[0].folder / f"node-{node}.data" / name / "log.jsonl"
        log = verify_log(path.read_bytes())
        numbers = [event.number for event in log if isinstance(event, EvaluationBegun)]
        assert numbers == sorted(set(numbers))


def notices_it(parts: LivePlatform, run_id: str) -> bool:
    """Whether a worker has said that it lost a run."""
    lines = [line for line in parts.log().splitlines() if "another process has the run" in line]
    return any(run_id in line for line in lines)


def test_the_run_of_a_killed_worker_goes_on_in_another_and_is_answered_in_time(
    parts: LivePlatform,
) -> None:
    with answered_on_time() as hand_in:
        run_id = under_way(parts, DEADLINE)
        before = owner(parts, run_id)
        os.killpg(before, signal.SIGKILL)
        taken_up(parts, run_id, before)
        run = finished(parts, run_id, hand_in)
    assert run["reason"].startswith("the deadline came")
    result = parts.call("GET", f"/runs/{run_id}/result", "north")
    assert followed(parts, run_id) >= result["evaluations"]
    evaluated_once(parts, run_id)
    check_record(parts, run_id, result)
    parts.start_worker()


def test_a_suspended_worker_that_wakes_can_write_nothing_and_ask_nothing(
    parts: LivePlatform,
) -> None:
    with answered_on_time() as hand_in:
        run_id = under_way(parts, DEADLINE)
        before = owner(parts, run_id)
        # The worker with the process of the run, as when its host is suspended.
        os.killpg(before, signal.SIGSTOP)
        try:
            taken_up(parts, run_id, before)
            fence = stored(parts, run_id).fence
        finally:
            os.killpg(before, signal.SIGCONT)
        poll(parts, lambda: notices_it(parts, run_id))
        assert owner(parts, run_id) != before
        assert stored(parts, run_id).fence == fence
        run = finished(parts, run_id, hand_in)
    assert run["reason"].startswith("the deadline came")
    result = parts.call("GET", f"/runs/{run_id}/result", "north")
    assert followed(parts, run_id) >= result["evaluations"]
    evaluated_once(parts, run_id)
    check_record(parts, run_id, result)
    # It works on for others.
    again = submitted(parts, deadline=1.0)
    finished(parts, again)


def test_a_run_that_is_due_while_its_worker_is_away_is_answered_by_another(
    parts: LivePlatform,
) -> None:
    """The lease has not expired by then, and nobody waits for it."""
    with answered_on_time() as hand_in:
        run_id = under_way(parts, 8.0)
        before = owner(parts, run_id)
        due = parts.run(run_id)["deadline_at"]
        time.sleep(max(0.0, due - 2.0 - time.time()))
        os.killpg(before, signal.SIGKILL)
        run = hand_in(parts.wait(run_id, "finished"))
    assert run["ended"] >= due
    assert parts.call("GET", f"/runs/{run_id}/result", "north")["plan"] is not None
    parts.start_worker()
