"""The database: SQLite in one file, or PostgreSQL by URL; short transactions in threads.

One service process writes to a database. Its writers take turns, since SQLite would otherwise make
them wait by polling, and so that events are committed in the order of their numbers. Answers at a
deadline come first, in a thread that nothing else can take.
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
from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, OperationalError
from sqlalchemy.orm import Session

from tacit.errors import InputError, StorageError
from tacit.service.storage.events import NEW_EVENTS
from tacit.service.storage.migrations import HEAD
from tacit.service.storage.models import Event

P = ParamSpec("P")
T = TypeVar("T")

READERS = 4
"""They share one interpreter, so more of them would only delay each other, and the answers."""
SQLITE = "sqlite:///"
BUSY_SECONDS = 10
"""How long a writer waits for another process, such as the command line's."""


class WritersTurn:
    """One writer at a time; urgent ones wait only for the one who is writing."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._urgent = 0
        self.is_taken = False

    @contextmanager
    def taken(self, *, first: bool = False) -> Iterator[None]:
        """Have the turn for as long as the block lasts."""
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
    """Opens a database by its URL and brings its tables up to date."""

    def __init__(self, url: str, /) -> None:
        try:
            self._engine = _open(url)
        except (ArgumentError, ModuleNotFoundError, OSError) as error:
            raise cannot_be_opened(error) from None
        self._writer = self._engine.execution_options(tacit_writes=True)
        self._turn = WritersTurn()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")
        self._writers = {
            first: ThreadPoolExecutor(1, thread_name_prefix="answers" if first else "writer")
            for first in (False, True)
        }
        self.on_events: Callable[[list[Event]], None] | None = None
        """Called in the writer's thread with the events of each transaction, once committed."""
        try:
            self.migrate()
        except DatabaseError as error:
            self.close()
            raise cannot_be_opened(error) from None
        except InputError:
            self.close()
            raise

    def migrate(self) -> None:
        """Bring the tables up to date."""
        there = self._revision()
        if there == HEAD:
            return
        # Here, since a restart must be quick, and most find nothing to do.
        from alembic import command
        from alembic.config import Config
        from alembic.script import ScriptDirectory

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        known = {each.revision for each in ScriptDirectory.from_config(config).walk_revisions()}
        if there is not None and there not in known:
            raise InputError(
                f"the database has the tables of another version of tacit ({there!r}, and this one "
                f"has {HEAD!r}); run that version, or restore a backup of this one"
            )
        with self._turn.taken(), self._writer.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _revision(self) -> str | None:
        """The step that the tables are at; None while there are none."""
        with self._engine.connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return None
            found = connection.scalar(text("SELECT version_num FROM alembic_version"))
            return None if found is None else str(found)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one state of the database and changes nothing."""
        with _away_is_said(), Session(self._engine, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def writing(self, *, first: bool = False) -> Iterator[Session]:
        """A session whose changes are on disk when the block ends, all or none."""
        with (
            self._turn.taken(first=first),
            _away_is_said(),
            Session(self._writer, expire_on_commit=False) as session,
        ):
            yield session
            session.commit()
            events: list[Event] = session.info.get(NEW_EVENTS, [])
            if events and self.on_events is not None:
                self.on_events(events)

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
        """The same, before all others that wait: for answers that are due."""
        return await self._write(query, first=True)

    async def _write(self, query: Callable[[Session], T], *, first: bool) -> T:
        def work() -> T:
            with self.writing(first=first) as session:
                return query(session)

        return await asyncio.get_running_loop().run_in_executor(self._writers[first], work)

    def close(self) -> None:
        """Let go of the database."""
        for threads in (self._readers, *self._writers.values()):
            threads.shutdown()
        self._engine.dispose()


@contextmanager
def _away_is_said() -> Iterator[None]:
    """Have a server that is gone or stopped, or a file that is locked or full, told from mistakes.

    What was being written is not there, or all of it is: the answer to a commit can be lost too.
    """
    try:
        yield
    except DBAPIError as error:
        if not isinstance(error, OperationalError) and not error.connection_invalidated:
            raise
        what = str(error.orig).splitlines()[0].strip()
        raise StorageError(
            f"the database cannot be used right now ({what}); try again in a minute"
        ) from error


def cannot_be_opened(error: Exception, /) -> InputError:
    """What to say of a database that cannot be used: not its URL, which may have a password in it.

    >>> print(cannot_be_opened(OSError("no such folder")))
    the database cannot be opened (no such folder); see database in service.toml
    """
    what = str(getattr(error, "orig", None) or error).splitlines()[0].strip()
    return InputError(f"the database cannot be opened ({what}); see database in service.toml")


def _open(url: str) -> Engine:
    if url.startswith(SQLITE):
        # Readable by its owner alone; SQLite gives its other files the mode of this one.
        Path(url.removeprefix(SQLITE)).touch(mode=0o600)
    engine = create_engine(
        url,
        pool_size=READERS + 4,
        pool_pre_ping=not url.startswith(SQLITE),
        json_serializer=lambda value: msgspec.json.encode(value).decode(),
        json_deserializer=msgspec.json.decode,
    )
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
    # Transactions begin explicitly: the driver's own would begin late, and could then not write.
    connection.isolation_level = None
    for setting in (
        f"busy_timeout = {BUSY_SECONDS * 1000}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("tacit_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
