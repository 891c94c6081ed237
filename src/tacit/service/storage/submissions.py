"""Queries about sealed rows and how the nodes took them."""

from __future__ import annotations

import time

from sqlalchemy import select
from sqlalchemy.orm import Session

from tacit.client import RowsState, SubmissionState
from tacit.service.storage.events import add_event
from tacit.service.storage.members import read_member
from tacit.service.storage.models import Member, Sealed
from tacit.service.storage.runs import read_run


def store_sealed(session: Session, sealed: Sealed, /) -> None:
    """Store a participant's boxes for an objective, in place of earlier ones."""
    sealed.state, sealed.reason = "waiting", None
    session.merge(sealed)
    session.flush()
    member = read_member(session, sealed.run, sealed.participant)
    member.submitted = time.time()
    _summarize(session, member)


def sealed_rows(session: Session, run_id: str, /) -> list[Sealed]:
    """All boxes of a run, by objective, then in the order of its participants."""
    query = (
        select(Sealed)
        .join(Member, (Member.run == Sealed.run) & (Member.participant == Sealed.participant))
        .where(Sealed.run == run_id)
        .order_by(Sealed.objective, Member.position)
    )
    return list(session.scalars(query))


def sealed_of(session: Session, run_id: str, participant: str, /) -> list[Sealed]:
    """A participant's own boxes by objective."""
    query = select(Sealed).where(Sealed.run == run_id, Sealed.participant == participant)
    return list(session.scalars(query.order_by(Sealed.objective)))


def set_submission_state(
    session: Session,
    run_id: str,
    participant: str,
    state: RowsState,
    /,
    *,
    reason: str | None = None,
    objective: int | None = None,
) -> None:
    """Store how the nodes took a participant's rows, of one objective or of all it sent."""
    for rows in sealed_of(session, run_id, participant):
        if objective in (None, rows.objective):
            rows.state, rows.reason = state, reason
    session.flush()
    _summarize(session, read_member(session, run_id, participant))


def _summarize(session: Session, member: Member) -> None:
    """What holds for all of a participant's rows: the worst that holds for some."""
    mine = sealed_of(session, member.run, member.participant)
    terms = read_run(session, member.run).terms
    objectives = sum(bool(each.get("confidential", True)) for each in terms["objectives"])
    states = [sealed.state for sealed in mine]
    summary: SubmissionState = "missing"
    if "refused" in states:
        summary = "refused"
    elif len(states) >= objectives:
        summary = "waiting" if "waiting" in states else "accepted"
    member.submission_state = summary
    member.submission_reason = next((each.reason for each in mine if each.reason), None)
    data = {"participant": member.participant, "submission_state": summary}
    add_event(session, member.run, "member", data)
