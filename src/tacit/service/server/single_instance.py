"""Allow one service process per data folder and per database.

At its start a service marks all running runs as interrupted. So a second one would end the runs of
the first, and both would write to the same files.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import ArgumentError, DatabaseError

from tacit.errors import InputError
from tacit.service.server.settings import Settings
from tacit.service.storage.database import SQLITE, cannot_be_opened

LOCK = "service.lock"
ADVISORY_KEY = 0x7461636974
"""PostgreSQL's locks have numbers; this one spells tacit."""
LOOK_SECONDS = 1.0
"""How often the database is tried: it forgets the lock when it restarts."""

log = logging.getLogger("tacit.service")


@contextmanager
def the_single_instance(settings: Settings, /) -> Iterator[AdvisoryLock | None]:
    """Be the only service with these settings for as long as the block lasts, or refuse.

    The lock of a database server has to be looked at now and then (`AdvisoryLock.look`).
    """
    # Locks of the operating system, not files with a process number: however a process dies, its
    # locks are released, and a restart never has to guess whether one is stale.
    folder, url = settings.data_folder, settings.database_url
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(folder / LOCK):
        if url.startswith(SQLITE):
            with _locked(Path(f"{url.removeprefix(SQLITE)}.lock")):
                yield None
        else:
            lock = AdvisoryLock(url)
            lock.take()
            try:
                yield lock
            finally:
                lock.let_go()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"{path} cannot be opened ({error.strerror}); see service.toml") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _runs_already(str(path)) from None
        yield
    finally:
        os.close(file)


class AdvisoryLock:
    """A lock that lasts as long as its connection: a database that restarts forgets it."""

    def __init__(self, url: str) -> None:
        try:
            self._engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        except (ArgumentError, ModuleNotFoundError) as error:
            raise cannot_be_opened(error) from None
        self._connection: Connection | None = None

    def take(self) -> None:
        try:
            connection = self._engine.connect()
        except DatabaseError as error:
            raise cannot_be_opened(error) from None
        if self._engine.dialect.name == "postgresql":
            # The server notices within a minute if this machine is gone.
            for name, value in (("idle", 30), ("interval", 10), ("count", 3)):
                connection.execute(text(f"SET tcp_keepalives_{name} = {value}"))
            taken = connection.scalar(text("SELECT pg_try_advisory_lock(:k)"), {"k": ADVISORY_KEY})
            if not taken:
                connection.close()
                raise _runs_already("the database")
        self._connection = connection

    def look(self) -> None:
        """Take the lock again after the database was away; end this process if it is taken."""
        try:
            if self._connection is None:
                self.take()
                log.info("the database is back, and locked again")
            else:
                self._connection.execute(text("SELECT 1"))
        except DatabaseError:
            self.let_go()
        except InputError as error:
            if isinstance(error.__context__, DatabaseError):
                return  # not back yet
            log.critical(f"{error}; this one ends, since two would spoil each other's runs")
            os.kill(os.getpid(), signal.SIGTERM)

    def let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DatabaseError):
                connection.close()


def _runs_already(what: str) -> InputError:
    return InputError(f"a platform runs already ({what} is locked by it); stop that one first")
