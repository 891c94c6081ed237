"""Query runs, their participants and sealed rows. Whatever changes a run also writes its event."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

import msgspec
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from tacit.client import (
    ENDS,
    FoundPlans,
    RowsState,
    RunProgress,
    RunState,
    RunTerms,
    SubmissionState,
)
from tacit.errors import NotThereError
from tacit.service.storage.claims import OVER
from tacit.service.storage.events import add_event, drop_progress
from tacit.service.storage.models import Account, Member, Run, StoredBoxes, new_id
from tacit.service.storage.states import check_state, check_transition

KEEP_PROGRESS_SECONDS = 60.0
"""A watcher who was away for longer learns where a run stands, not each step there."""


def create_run(
    session: Session,
    terms: RunTerms,
    /,
    *,
    by: str,
    series: str | None = None,
    series_number: int | None = None,
) -> Run:
    run = Run(
        id=new_id("r"),
        name=terms.name,
        state="draft",
        terms=terms,
        created_by=by,
        created=time.time(),
        warnings=[],
        series=series,
        series_number=series_number,
    )
    session.add(run)
    session.flush()
    add_event(session, run.id, "state", {"state": run.state, "reason": None})
    return run


def read_run(session: Session, run_id: str, /, *, for_update: bool = False) -> Run:
    """The run of this name, or a `NotThereError`."""
    run = session.get(Run, run_id, with_for_update=for_update or None)
    if run is None:
        raise NotThereError("there is no such run for you; see the list of runs")
    return run


def runs_in_state(
    session: Session, states: Iterable[RunState], /, *, participant: str | None = None
) -> list[Run]:
    """The runs in one of these states, all or a participant's, the oldest first."""
    query = select(Run).where(Run.state.in_(list(states))).order_by(Run.created)
    if participant is not None:
        query = query.where(Run.id.in_(select(Member.run).where(Member.participant == participant)))
    return list(session.scalars(query))


def set_state(
    session: Session,
    run_id: str,
    state: RunState,
    /,
    *,
    reason: str | None = None,
    only_from: frozenset[RunState] | None = None,
    running_since: float | None = None,
    deadline_at: float | None = None,
    ended: float | None = None,
    result: FoundPlans | None = None,
) -> Run:
    """Take a run to another state, if it may go there; a time that is left out stays as it is.

    `only_from` narrows where it may come from. An end without `ended` gets the current time.
    """
    # The row stays locked until the commit, so that of two who move a run at once the second sees
    # where the first has taken it: a cancelled run cannot be started, nor a finished one cancelled.
    run = read_run(session, run_id, for_update=True)
    if only_from is not None:
        check_state(run.state, only_from, to=f"become {state}")
    check_transition(run.state, state)
    run.state, run.reason, run.troubles = state, reason, []
    if running_since is not None:
        run.running_since = running_since
    if deadline_at is not None:
        run.deadline_at = deadline_at
    if result is not None:
        run.result = result
    if state in OVER and run.nonce is None:
        run.work_left = False  # its nodes know nothing of it
    if state in ENDS:
        run.ended = time.time() if ended is None else ended
        drop_progress(session, run_id)
    elif state == "submitted":  # also when it is resumed, with a new deadline
        run.ended = run.running_since = run.deadline_at = None
    data = {
        "state": state,
        "reason": reason,
        "running_since": run.running_since,
        "deadline_at": run.deadline_at,
    }
    add_event(session, run_id, "state", data)
    return run


def set_agreement(session: Session, run_id: str, agreement: bytes, agreement_hash: str, /) -> Run:
    """Store the agreement to be signed, without the signatures under an earlier draft."""
    run = read_run(session, run_id, for_update=True)
    check_state(run.state, frozenset({"invited"}), to="draft its agreement")
    run.agreement, run.agreement_hash, run.troubles = agreement, agreement_hash, []
    for member in session.scalars(select(Member).where(Member.run == run_id)):
        member.signature = member.signed = None
    add_event(session, run_id, "state", {"state": run.state, "agreement_hash": agreement_hash})
    return run


def set_lateness(session: Session, run_id: str, late_by: float, /) -> None:
    """Correct when the result of a run could be fetched, which its first write cannot know."""
    run = read_run(session, run_id, for_update=True)
    if run.result is not None:
        run.result = msgspec.structs.replace(run.result, late_by_seconds=round(late_by, 4))


def set_progress(session: Session, run_id: str, progress: RunProgress, /) -> bool:
    """Store where a running run stands, with its event; False if it is not running any more."""
    # This happens twice a second, so it does not read the run, which has its agreement in it.
    # A run that has ended keeps its last report: answers are written first, so that an earlier
    # report may still wait its turn then.
    running = update(Run).where(Run.id == run_id, Run.state == "running")
    if session.scalar(running.values(progress=progress).returning(Run.id)) is None:
        return False
    # Otherwise the table would grow by two rows a second and run.
    drop_progress(session, run_id, before=time.time() - KEEP_PROGRESS_SECONDS)
    add_event(session, run_id, "progress", msgspec.to_builtins(progress))
    return True


def add_warning(session: Session, run_id: str, message: str, /) -> None:
    """Add a warning to a run, once."""
    run = read_run(session, run_id, for_update=True)
    if message not in run.warnings:
        run.warnings = [*run.warnings, message]
        add_event(session, run_id, "warning", {"message": message})


def add_trouble(session: Session, run_id: str, message: str, /) -> None:
    """Add what keeps a run in its state, in place of the trouble before: it ends with the state."""
    run = read_run(session, run_id, for_update=True)
    if run.troubles != [message]:
        run.troubles = [message]
        add_event(session, run_id, "warning", {"message": message})


def end_trouble(session: Session, run_id: str, /) -> None:
    """Forget what kept a run in its state and does so no more."""
    # Without an event: one of the state would have people told a second time what is asked of them.
    read_run(session, run_id, for_update=True).troubles = []


def add_members(session: Session, run_id: str, rows: Mapping[str, list[int]], /) -> None:
    """Make accounts members of a run in this order, which is that of its agreement."""
    created = session.scalars(select(Run.created).where(Run.id == run_id)).one()
    for position, (name, owned) in enumerate(rows.items()):
        member = Member(
            run=run_id,
            participant=name,
            created=created,
            position=position,
            rows=owned,
            submission_state="missing",
        )
        session.add(member)
    session.flush()


def members_of(session: Session, run_id: str, /) -> list[Member]:
    """The participants of a run in the order of its agreement."""
    query = select(Member).where(Member.run == run_id).order_by(Member.position)
    return list(session.scalars(query))


def members_with_keys(session: Session, run_id: str, /) -> list[tuple[Member, str | None]]:
    """The participants of a run in the agreement's order, each with its signing key if known."""
    query = (
        select(Member, Account.signing_key)
        .join(Account, Account.name == Member.participant)
        .where(Member.run == run_id)
        .order_by(Member.position)
    )
    return [(member, key) for member, key in session.execute(query)]


def read_member(session: Session, run_id: str, participant: str, /) -> Member:
    """A participant of a run, or a `NotThereError`."""
    member = session.get(Member, (run_id, participant))
    if member is None:
        raise NotThereError("there is no such run for you; see the list of runs")
    return member


def is_member(session: Session, run_id: str, participant: str, /) -> bool:
    mine = (Member.run == run_id, Member.participant == participant)
    return session.scalar(select(Member.run).where(*mine)) is not None


def set_signature(session: Session, run_id: str, participant: str, signature: bytes, /) -> bool:
    """Store a participant's signature; returns whether all have signed now."""
    member = read_member(session, run_id, participant)
    member.signature, member.signed = signature, time.time()
    add_event(session, run_id, "member", {"participant": participant, "signed": True})
    return all(each.signature is not None for each in members_of(session, run_id))


def store_sealed(session: Session, sealed: StoredBoxes, /) -> None:
    """Store a participant's boxes for an objective, in place of earlier ones."""
    # Rows that the nodes have refused are replaced, and their verdict with them.
    sealed.state, sealed.reason = "waiting", None
    session.merge(sealed)
    session.flush()
    member = read_member(session, sealed.run, sealed.participant)
    member.submitted = time.time()
    _summarize(session, member)


def sealed_rows(session: Session, run_id: str, /) -> list[StoredBoxes]:
    """All boxes of a run, by objective, then in the order of its participants."""
    query = (
        select(StoredBoxes)
        .join(
            Member,
            (Member.run == StoredBoxes.run) & (Member.participant == StoredBoxes.participant),
        )
        .where(StoredBoxes.run == run_id)
        .order_by(StoredBoxes.objective, Member.position)
    )
    return list(session.scalars(query))


def sealed_of(session: Session, run_id: str, participant: str, /) -> list[StoredBoxes]:
    query = select(StoredBoxes).where(
        StoredBoxes.run == run_id, StoredBoxes.participant == participant
    )
    return list(session.scalars(query.order_by(StoredBoxes.objective)))


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
    """Store whether the nodes took a participant's rows, of one objective or of all."""
    for rows in sealed_of(session, run_id, participant):
        if objective in (None, rows.objective):
            rows.state, rows.reason = state, reason
    session.flush()
    _summarize(session, read_member(session, run_id, participant))


def _summarize(session: Session, member: Member) -> None:
    """Store for the member what holds for all of its rows: the worst that holds for some."""
    mine = sealed_of(session, member.run, member.participant)
    objectives = len(read_run(session, member.run).terms.confidential)
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
