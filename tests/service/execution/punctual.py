"""That runs are answered at their deadlines, also where the machine has other work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from studies.benchmarks.live_platform import ENDS, OPERATOR, LivePlatform

from tests.support.cpu_waits import CpuWaits

LATE = 0.5
"""Here other tests may run beside it; studies/benchmarks/platform.py holds it to 0.1 s."""
LONGEST_SECONDS = 120.0
LEAST_LEFT = 0.4
"""Of the time of a run, for what a test does to it."""

Run = dict[str, Any]


@contextmanager
def answered_on_time() -> Iterator[Callable[[Run], Run]]:
    """Check at the end of the block that the runs handed in were answered at their deadlines.

    The time in which the platform or its nodes could not run, since something else did, is not
    theirs.
    """
    ended: list[Run] = []

    def hand_in(run: Run) -> Run:
        ended.append(run)
        return run

    with CpuWaits(time.time) as waits:
        yield hand_in
    for run in ended:
        due, came = run["deadline_at"], run["ended"]
        waited = waits.between(due, came)
        assert came - due - waited < LATE, f"{came - due:.2f} s late, {waited:.2f} s waited"


def finished(live: LivePlatform, run_id: str, hand_in: Callable[[Run], Run] | None = None) -> Run:
    """The run when it has ended with a plan.

    Whatever a slow machine has not found in time it may find later: such a run is resumed.
    """
    until = time.monotonic() + LONGEST_SECONDS
    while True:
        run = live.wait(run_id, "finished", "interrupted")
        if hand_in is not None:
            hand_in(run)
        if run["state"] == "finished":
            return run
        assert "before there was a plan" in run["reason"], run["reason"]
        assert time.monotonic() < until, "nothing is found"
        live.call("POST", f"/runs/{run_id}/resume", OPERATOR)


def caught(
    live: LivePlatform,
    submitted: Callable[[float], str],
    deadline: float,
    *,
    least: int = 1,
    what: str = "evaluations",
) -> str:
    """A run that is under way and has come so far, with time left to do something to it.

    Where a slow machine has not come so far by then, the next run has twice as long.
    """
    while deadline < LONGEST_SECONDS:
        run_id = submitted(deadline)
        if _is_caught(live, run_id, least, what):
            return run_id
        deadline *= 2
    raise AssertionError(f"no run comes to {least} {what}")


def _is_caught(live: LivePlatform, run_id: str, least: int, what: str) -> bool:
    while (run := live.wait(run_id, "running", *ENDS))["state"] == "running":
        left = (run["deadline_at"] - time.time()) / (run["deadline_at"] - run["running_since"])
        if left < LEAST_LEFT:
            live.call("POST", f"/runs/{run_id}/cancel", OPERATOR, json={})
        elif (run["progress"] or {what: 0})[what] >= least:
            return True
        time.sleep(0.02)
    return False
