"""Find, after a start, what was running when the last process ended, and what continues."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from tacit.agreement import read_agreement
from tacit.service.execution.answer import result_of
from tacit.service.execution.queue import Waiting
from tacit.service.execution.report import read_report, run_folder
from tacit.service.storage import read_run, runs_in_state, set_progress, set_state


@dataclass(frozen=True)
class Recovered:
    """What continues after a start."""

    interrupted: list[str]
    to_hand_over: list[tuple[str, str]]
    """Agreed runs with their clusters."""
    to_queue: list[Waiting]


def interrupt(session: Session, run_id: str, data: Path, reason: str, /) -> bool:
    """Store that a run was interrupted, with its best so far, if it is running.

    Returns whether it was.
    """
    run = read_run(session, run_id, for_update=True)
    if run.state != "running":
        return False
    # The worker writes a report to its file before it sends it. So this one is at least as new as
    # the last that the ended process had read.
    report, result = read_report(run_folder(data, run_id)), None
    agreement = None if run.agreement is None else read_agreement(run.agreement)
    if agreement is not None:
        result = result_of(report, agreement)
    if report is not None and result is not None:
        set_progress(session, run_id, report.progress())
    # The worker had its plan, and the platform ended before it stored that.
    if report is not None and report.is_over and result is not None:
        reason = f"it had its plan, then {reason}"
        set_state(session, run_id, "finished", reason=reason, result=result)
        return True
    reason = f"{reason}; resume it to go on"
    set_state(session, run_id, "interrupted", reason=reason, result=result)
    return True


def recover(session: Session, data: Path, /) -> Recovered:
    """Store what was interrupted, with its best so far; returns what continues."""
    interrupted = [run.id for run in runs_in_state(session, ["running"])]
    for run_id in interrupted:
        interrupt(session, run_id, data, "the platform ended while it ran")
    agreed = runs_in_state(session, ["agreed"])
    submitted = runs_in_state(session, ["submitted"])
    return Recovered(
        interrupted,
        [(run.id, run.cluster) for run in agreed if run.cluster is not None],
        [
            Waiting(run.id, run.cluster, run.created_by)
            for run in submitted
            if run.cluster is not None
        ],
    )
