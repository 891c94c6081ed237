"""Event streams: every committed event reaches every listener, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tacit.service.storage import Database, Event

MOST_UNREAD = 1000
"""A listener with so many unread events is dropped; it can reconnect and read on."""


class Announcer:
    """Hands the database's events to those who listen.

    Queries that change a run (`set_state`, `set_progress`, `add_warning`, `set_signature` and the
    like) write their event themselves.
    """

    def __init__(self, database: Database, /) -> None:
        self._database = database
        self._listeners: set[asyncio.Queue[Event | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to hand on, on the running event loop."""
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
            self._loop.call_soon_threadsafe(self._hand_on, events)

    def _hand_on(self, events: list[Event] | list[None]) -> None:
        for queue in list(self._listeners):
            for each in events:
                if queue.full():
                    self._listeners.discard(queue)
                    queue.get_nowait()
                    queue.put_nowait(None)
                    break
                queue.put_nowait(each)
