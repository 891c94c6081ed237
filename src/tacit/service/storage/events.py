"""Store events in the order of their commits, and hand them to the listeners of every process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select, text
from sqlalchemy.orm import Session

from tacit.errors import StorageError
from tacit.service.storage.models import Event, Member, Run
from tacit.supervisor import Supervisor, log_failures

if TYPE_CHECKING:
    from tacit.service.storage.database import Database

CHANNEL = "tacit_events"
EVENTS_KEY = 0x7461636975
"""PostgreSQL's locks have numbers; this one is held by whoever commits events."""
_UNSTORED = "unstored events"
"""The key under which a session keeps its events until its transaction ends."""
log = logging.getLogger("tacit.service")


def add_event(session: Session, run_id: str, kind: str, data: dict[str, Any], /) -> None:
    """Store what happened to a run as the transaction ends; listeners get it once committed."""
    added = Event(run=run_id, at=time.time(), kind=kind, data=data)
    session.info.setdefault(_UNSTORED, []).append(added)


@contextmanager
def undone_with_its_events(session: Session, /) -> Iterator[None]:
    """A part of a transaction: if it fails, neither its changes nor its events are stored."""
    before = list(session.info.get(_UNSTORED, []))
    try:
        with session.begin_nested():
            yield
    except BaseException:
        session.info[_UNSTORED] = before
        raise


def store_events(session: Session, /) -> bool:
    """Insert the events of a transaction that is about to be committed; whether there are any."""
    added: list[Event] = session.info.pop(_UNSTORED, [])
    if not added:
        return False
    session.flush()
    if session.get_bind().dialect.name == "postgresql":
        _commit_in_order(session, sorted({each.run for each in added}))
    session.add_all(added)
    return True


def _commit_in_order(session: Session, run_ids: list[str]) -> None:
    """Have this transaction's events numbered, and seen, after those of all before it.

    Readers go on from the highest number they have seen. Of two processes that commit at once, the
    one with the lower number could otherwise be second, and its event be missed for good.
    """
    # The lock is the last that this transaction takes: whoever holds it waits for nobody, and there
    # is no deadlock. Inserting an event locks its run's row, which is therefore locked first.
    runs = select(Run.id).where(Run.id.in_(run_ids)).order_by(Run.id)
    session.execute(runs.with_for_update(read=True, key_share=True))
    # PostgreSQL releases it once the commit can be seen by others.
    session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": EVENTS_KEY})
    session.execute(text("SELECT pg_notify(:channel, '')"), {"channel": CHANNEL})


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
    mine = [Event.run == run_id, Event.kind == "progress"]
    if before is not None:
        mine.append(Event.at < before)
    elif not any(
        (each.run, each.kind) == (run_id, "progress") for each in session.info.get(_UNSTORED, ())
    ):  # otherwise the last is one that this transaction adds
        mine.append(Event.id < select(func.max(Event.id)).where(*mine).scalar_subquery())
    session.execute(delete(Event).where(*mine).execution_options(synchronize_session=False))


def last_event(session: Session, /) -> int:
    """The number of the latest event, 0 if there is none."""
    return session.scalar(select(Event.id).order_by(Event.id.desc()).limit(1)) or 0


MOST_UNREAD = 1000
"""A listener with so many unread events is dropped; it can reconnect and read on."""
BATCH = 500
MOST_NUMBERS = 10_000
RECONNECT_SECONDS = 1.0
KEEPALIVE = {"connect_timeout": 10, "keepalives_idle": 10, "keepalives_interval": 5}
"""A server whose host is gone is noticed within half a minute."""


class Announcer:
    """Hands every committed event to every listener of this process, in order.

    A commit only wakes it up, by a callback in this process and by `NOTIFY` in others. It then
    reads the table on from the last number, so that nothing is missed however often the connection
    to the server is lost.
    """

    def __init__(self, database: Database, /) -> None:
        self._database = database
        self._listeners: set[asyncio.Queue[Event | None]] = set()
        self._tasks = Supervisor(log_failures(log))
        self._last = 0
        self._newest: OrderedDict[str, int] = OrderedDict()

    async def start(self) -> None:
        """Begin to hand events on, on the running event loop."""
        loop = asyncio.get_running_loop()
        self._last = await self._database.read(last_event)
        committed = asyncio.Event()

        def wake() -> None:
            # Commits happen in a writer's thread, which may be at work when the loop has ended.
            if not loop.is_closed():
                loop.call_soon_threadsafe(committed.set)

        async def hand_on() -> None:
            await committed.wait()
            committed.clear()
            try:
                await self._hand_on_new()
            except BaseException:
                committed.set()  # the next round reads them, once the database is back
                raise

        self._database.on_events = wake
        self._tasks.every(0.0, "announcing events", hand_on)
        if (server := self._database.server) is not None:
            self._tasks.every(
                RECONNECT_SECONDS, "listening for events", lambda: _listen(server, committed)
            )

    def count_in(self, tasks: Supervisor, /) -> None:
        """Have the failures of its tasks counted with those of others."""
        self._tasks.health = tasks.health

    def stop(self) -> None:
        """Disconnect all listeners."""
        self._hand_on([None])

    async def close(self) -> None:
        """Disconnect all listeners, and hear nothing more."""
        self._database.on_events = None
        self.stop()
        await self._tasks.close()

    def newest(self, run_id: str | None = None, /) -> int:
        """Return the number of the last event, of a run or of all, that was seen by this process.

        Whoever shows a run fetches it again when this changes.
        """
        return self._last if run_id is None else self._newest.get(run_id, 0)

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[Event | None]]:
        """A queue of all events from now on; None is the last."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(MOST_UNREAD)
        self._listeners.add(queue)
        try:
            yield queue
        finally:
            self._listeners.discard(queue)

    async def _hand_on_new(self) -> None:
        while events := await self._database.read(events_after, self._last, limit=BATCH):
            self._last = events[-1].id
            for each in events:
                self._newest[each.run] = each.id
                self._newest.move_to_end(each.run)
            while len(self._newest) > MOST_NUMBERS:
                self._newest.popitem(last=False)
            self._hand_on(events)

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


async def _listen(server: dict[str, Any], committed: asyncio.Event) -> None:
    """Set an event whenever a transaction with events is committed; raises when it is cut off."""
    import psycopg

    options = {**KEEPALIVE, **server}
    try:
        async with await psycopg.AsyncConnection.connect(**options, autocommit=True) as connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            # For what was committed while nobody listened.
            committed.set()
            async for _ in connection.notifies():
                committed.set()
    except psycopg.Error as error:
        raise StorageError(f"the database ended the connection for events: {error}") from None
