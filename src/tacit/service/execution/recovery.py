"""After a start: what was going when the last process ended, however it did."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from tacit.engine.agreement import read_agreement
from tacit.service.execution.answer import result_of
from tacit.service.execution.queue import Waiting
from tacit.service.execution.report import read_report, run_folder
from tacit.service.lifecycle import State
from tacit.service.storage import runs_in_state, set_progress, set_state


@dataclass(frozen=True)
class Recovered:
    """What goes on."""

    interrupted: list[str]
    to_hand_over: list[tuple[str, str]]
    """Agreed runs with their trios."""
    to_queue: list[Waiting]


def recover(session: Session, data: Path, /) -> Recovered:
    """Put down what was interrupted, with its best so far, and tell what goes on.

    >>> recover.__name__
    'recover'
    """
    interrupted = []
    for run in runs_in_state(session, [State.RUNNING]):
        report = read_report(run_folder(data, run.id))
        result = None
        if run.agreement is not None:
            result = result_of(report, read_agreement(run.agreement))
        if report is not None and result is not None:
            set_progress(session, run.id, report.progress())
        reason = "the platform ended while it ran; resume it to go on"
        set_state(session, run.id, State.INTERRUPTED, reason=reason, result=result)
        interrupted.append(run.id)
    agreed = runs_in_state(session, [State.AGREED])
    submitted = runs_in_state(session, [State.SUBMITTED])
    return Recovered(
        interrupted,
        [(run.id, run.trio) for run in agreed if run.trio is not None],
        [Waiting(run.id, run.trio, run.created_by) for run in submitted if run.trio is not None],
    )
