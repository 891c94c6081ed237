"""Store events with what they are about, and hand them to listeners once committed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from tacit.service.storage.models import Event, Member

if TYPE_CHECKING:
    from tacit.service.storage.database import Database

NEW_EVENTS = "new events"
"""The key under which a session keeps them until its commit."""


def add_event(session: Session, run_id: str, kind: str, data: dict[str, Any], /) -> Event:
    """Store what happened to a run; listeners get it once the transaction is committed."""
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


MOST_UNREAD = 1000
"""A listener with so many unread events is dropped; it can reconnect and read on."""


class Announcer:
    """Hands every committed event to every listener, in order."""

    def __init__(self, database: Database, /) -> None:
        self._database = database
        self._listeners: set[asyncio.Queue[Event | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to hand events on, on the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._database.on_events = self._from_thread

    def stop(self) -> None:
        """Disconnect all listeners."""
        self._database.on_events = None
        self._hand_on([None])

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[Event | None]]:
        """A queue of all events from now on; None is the last."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(MOST_UNREAD)
        self._listeners.add(queue)
        try:
            yield queue
        finally:
            self._listeners.discard(queue)

    def _from_thread(self, events: list[Event]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            # Commits happen in the writer's thread, and queues of asyncio may be used in the loop's
            # alone.
            self._loop.call_soon_threadsafe(self._hand_on, events)

    def _hand_on(self, events: list[Event] | list[None]) -> None:
        for queue in list(self._listeners):
            for each in events:
                # A listener that does not read must not hold up others or fill the memory. It is
                # told so by None, and can read what it missed from the database.
                if queue.full():
                    self._listeners.discard(queue)
                    queue.get_nowait()
                    queue.put_nowait(None)
                    break
                queue.put_nowait(each)
