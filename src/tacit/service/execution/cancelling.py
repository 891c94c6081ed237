"""Cancel runs: whatever works on one stops, since its fence does not hold any more."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from sqlalchemy.orm import Session

from tacit.agreement import read_agreement
from tacit.client import ENDS, RunState
from tacit.errors import WrongStateError
from tacit.service.execution.answer import result_of
from tacit.service.execution.report import decode_report
from tacit.service.storage import read_run, read_run_file, set_state
from tacit.service.storage.run_files import REPORT
from tacit.service.storage.states import check_state


def cancel_run(
    session: Session,
    run_id: str,
    reason: str,
    /,
    *,
    only_from: AbstractSet[RunState] | None = None,
) -> None:
    """Cancel a run that has not ended; one that is running keeps the best of its last report."""
    run = read_run(session, run_id, for_update=True)
    if only_from is not None:
        check_state(run.state, frozenset(only_from), to="become cancelled")
    if run.state in ENDS:
        raise WrongStateError(f"the run is {run.state}; there is nothing to cancel")
    result = None
    if run.state == "running" and run.agreement is not None:
        report = decode_report(read_run_file(session, run_id, REPORT))
        result = result_of(report, read_agreement(run.agreement))
    set_state(session, run_id, "cancelled", reason=reason, result=result)
    # Its process writes nothing more, nor ask the nodes once these know of the end.
    run.owner = run.lease_until = None
    run.fence += 1
