"""Queries about events."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from tacit.service.storage.models import Event, Member

NEW_EVENTS = "new events"
"""Where a session keeps them until its commit."""


def add_event(session: Session, run_id: str, kind: str, data: dict[str, Any], /) -> Event:
    """Write down that something happened to a run; watchers learn of it at the commit."""
    added = Event(run=run_id, at=time.time(), kind=kind, data=data)
    session.add(added)
    session.info.setdefault(NEW_EVENTS, []).append(added)
    return added


def events_after(
    session: Session,
    after: int,
    /,
    *,
    run: str | None = None,
    participant: str | None = None,
    limit: int | None = 1000,
) -> list[Event]:
    """The next events after a number, of one run or of all that a participant takes part in."""
    query = select(Event).where(Event.id > after).order_by(Event.id).limit(limit)
    if run is not None:
        query = query.where(Event.run == run)
    if participant is not None:
        query = query.where(
            Event.run.in_(select(Member.run).where(Member.participant == participant))
        )
    return list(session.scalars(query))


def drop_progress(session: Session, run_id: str, /, *, before: float | None = None) -> None:
    """Delete the events of a run's progress before an instant, or all but the last of it.

    Watchers need the current state of a run; its history is in its progress file.
    """
    mine = (Event.run == run_id, Event.kind == "progress")
    old = (
        Event.id < select(func.max(Event.id)).where(*mine).scalar_subquery()
        if before is None
        else Event.at < before
    )
    session.execute(delete(Event).where(*mine, old).execution_options(synchronize_session=False))


def last_event(session: Session, /) -> int:
    """The number of the latest event, 0 if there is none."""
    return session.scalar(select(Event.id).order_by(Event.id.desc()).limit(1)) or 0
