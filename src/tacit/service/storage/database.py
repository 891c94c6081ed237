"""Run short transactions in threads, on SQLite in one file or on PostgreSQL by URL.

One service process writes to a database, one transaction at a time. Answers at a deadline come
first.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec
from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.orm import Session

from tacit.errors import InputError, StorageError
from tacit.service.storage.events import store_events
from tacit.service.storage.models import Base, NoticeCursor, TablesVersion

P = ParamSpec("P")
T = TypeVar("T")

READERS = 4
"""More threads would only delay each other and the answers: they share one interpreter."""
SQLITE = "sqlite:///"
TABLES_VERSION = "0001"
"""Increased when tables change; a database with another version is refused."""
IDLE_WRITER_SECONDS = 3
"""How long PostgreSQL waits for the next statement of a transaction that writes."""
SERVER_TIMEOUTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "5000",
}
"""Parameters of libpq: after so long, connections to a PostgreSQL host that is gone break.

A host that loses its power or its network closes no connection, and by default TCP waits for it for
15 minutes, and with it all that this process writes.
"""
BUSY_SECONDS = 10
"""How long SQLite waits for another process that writes, such as a command of an operator."""


class WriteLock:
    """Lets one writer in at a time; an urgent one is next, whoever waited longer.

    Without it SQLite would make writers poll for their turn, in any order.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._urgent = 0
        self.is_taken = False

    @contextmanager
    def held(self, *, first: bool = False) -> Iterator[None]:
        """Hold the lock for as long as the block lasts."""
        with self._changed:
            self._urgent += first
            self._changed.wait_for(lambda: not self.is_taken and (first or not self._urgent))
            self._urgent -= first
            self.is_taken = True
        try:
            yield
        finally:
            with self._changed:
                self.is_taken = False
                self._changed.notify_all()


class Database:
    """A database with its tables up to date."""

    def __init__(self, url: str, /) -> None:
        try:
            self._engine = _open(url)
        except (ArgumentError, ModuleNotFoundError, OSError) as error:
            raise cannot_be_opened(error) from None
        self._writer = self._engine.execution_options(tacit_writes=True)
        self._write_lock = WriteLock()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        # Answers have a thread of their own: in a shared one they would stand behind whatever was
        # submitted before, and the lock could not let them pass.
        self._writers = {
            first: ThreadPoolExecutor(1, thread_name_prefix="answers" if first else "writer")
            for first in (False, True)
        }
        self.on_events: Callable[[], None] | None = None
        """Called in the writer's thread after each commit with events."""
        try:
            self._check_tables()
        except DatabaseError as error:
            self.close()
            raise cannot_be_opened(error) from None
        except InputError:
            self.close()
            raise

    def _check_tables(self) -> None:
        """Create the tables in an empty database; refuse those of another version."""
        with self._engine.begin() as connection:
            is_empty = not inspect(connection).get_table_names()
        if is_empty:
            with self._writer.begin() as connection:
                _create_tables(connection)
        with self._engine.begin() as connection:
            version = connection.scalar(select(TablesVersion.version_num))
        if version != TABLES_VERSION:
            raise InputError(
                f"the database has the tables of another version of tacit ({version!r}, and this "
                f"one has {TABLES_VERSION!r}); run that version, or restore a backup of this one"
            )

    @property
    def server(self) -> dict[str, Any] | None:
        """What psycopg connects to the server with; None for SQLite."""
        if self._engine.dialect.name == "sqlite":
            return None
        _, options = self._engine.dialect.create_connect_args(self._engine.url)
        return dict(options)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        # Callers use the rows after the session has ended, so a commit must not expire them.
        with _storage_errors(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self, *, first: bool = False) -> Iterator[Session]:
        """A session whose changes are on disk when the block ends, all or none."""
        with (
            self._write_lock.held(first=first),
            _storage_errors(),
            Session(self._writer, expire_on_commit=False) as session,
        ):
            yield session
            has_events = store_events(session)
            session.commit()
            if has_events and self.on_events is not None:
                self.on_events()

    async def read(
        self,
        query: Callable[Concatenate[Session, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run a query in a thread."""

        def work() -> T:
            with self.reading() as session:
                return query(session, *arguments, **options)

        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    async def write(
        self,
        query: Callable[Concatenate[Session, P], T],
        /,
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """Run a query that changes something in a thread, in a transaction of its own."""
        return await self._write(lambda session: query(session, *arguments, **options), first=False)

    async def write_first(self, query: Callable[[Session], T], /) -> T:
        """Write before all others that wait: for answers that are due."""
        return await self._write(query, first=True)

    async def _write(self, query: Callable[[Session], T], *, first: bool) -> T:
        def work() -> T:
            with self.writing(first=first) as session:
                return query(session)

        return await asyncio.get_running_loop().run_in_executor(self._writers[first], work)

    def close(self) -> None:
        for threads in (self._readers, *self._writers.values()):
            threads.shutdown()
        self._engine.dispose()


@contextmanager
def _storage_errors() -> Iterator[None]:
    """Raise `StorageError` for a server that is gone, or a file that is locked or full.

    A transaction that ended so was written entirely or not at all. The caller cannot know which:
    the confirmation of a commit can be lost, too.
    """
    try:
        yield
    except DBAPIError as error:
        if not isinstance(error, OperationalError) and not error.connection_invalidated:
            raise
        what = _first_line(error.orig)
        raise StorageError(
            f"the database cannot be used right now ({what}); try again in a minute"
        ) from error


def cannot_be_opened(error: Exception, /) -> InputError:
    """Return the error of a database that cannot be used, without its URL: that has passwords.

    >>> print(cannot_be_opened(OSError("no such folder")))
    the database cannot be opened (no such folder); see database in service.toml
    """
    what = _first_line(getattr(error, "orig", None) or error)
    return InputError(f"the database cannot be opened ({what}); see database in service.toml")


def _first_line(error: BaseException | None) -> str:
    return str(error).splitlines()[0].strip()


def _create_tables(connection: Connection) -> None:
    # The service and a command may open a new database at the same time. SQLite lets in one
    # writer; PostgreSQL needs a lock, and whoever comes second finds the tables there.
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(1)"))
    if not inspect(connection).get_table_names():
        Base.metadata.create_all(connection)
        connection.execute(insert(TablesVersion).values(version_num=TABLES_VERSION))
        connection.execute(insert(NoticeCursor).values(id=1, event=0))


def _open(url: str) -> Engine:
    if url.startswith(SQLITE):
        # Readable by its owner alone; SQLite gives its other files the mode of this one.
        Path(url.removeprefix(SQLITE)).touch(mode=0o600)
    engine = create_engine(
        _with_timeouts(url),
        pool_size=READERS + 4,
        # A server may have closed an idle connection, and the first query on it would fail.
        pool_pre_ping=not url.startswith(SQLITE),
        json_serializer=lambda value: msgspec.json.encode(value).decode(),
        json_deserializer=msgspec.json.decode,
    )
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    else:
        event.listen(engine, "begin", _begin_on_server)
    return engine


def _with_timeouts(url: str) -> URL:
    """Add the timeouts that the URL of a PostgreSQL server does not set itself."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "postgresql":
        return parsed
    return parsed.update_query_dict({**SERVER_TIMEOUTS, **parsed.query})


def _set_up_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
    # The driver would begin a transaction only at its first write. One that had read before could
    # then fail for good, since another process may have written meanwhile.
    connection.isolation_level = None
    # WAL lets readers go on while somebody writes. FULL makes a commit survive a power cut, as what
    # was confirmed to a participant must not be lost. SQLite checks foreign keys only if it is told
    # to.
    for setting in (
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_on_server(connection: Connection) -> None:
    # Whoever is suspended in the middle of a write, or loses its network there, has locks that all
    # others wait for. The server then ends its transaction, with nothing of it written.
    if connection.get_execution_options().get("tacit_writes", False):
        idle = IDLE_WRITER_SECONDS * 1000
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {idle}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("tacit_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
