"""Queries about the participants of runs."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from tacit.errors import NotThereError
from tacit.service.storage.events import add_event
from tacit.service.storage.models import Account, Member


def add_members(session: Session, run_id: str, rows: Mapping[str, list[int]], /) -> None:
    """Make accounts members of a run, in this order, each with its rows."""
    for position, (name, owned) in enumerate(rows.items()):
        member = Member(
            run=run_id,
            participant=name,
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


def runs_of_participant(session: Session, participant: str, /) -> set[str]:
    """The names of the runs that a participant takes part in."""
    return set(session.scalars(select(Member.run).where(Member.participant == participant)))


def set_signature(session: Session, run_id: str, participant: str, signature: bytes, /) -> bool:
    """Store a participant's signature; returns whether all have signed now."""
    member = read_member(session, run_id, participant)
    member.signature, member.signed = signature, time.time()
    add_event(session, run_id, "member", {"participant": participant, "signed": True})
    return all(each.signature is not None for each in members_of(session, run_id))
