"""One service process per data folder and per database: a second would interrupt its runs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import NullPool, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError

from tacit.errors import InputError
from tacit.service.server.settings import Settings
from tacit.service.storage.database import SQLITE, cannot_be_opened

LOCK = "service.lock"
ADVISORY_KEY = 0x7461636974
"""PostgreSQL's locks have numbers; this one spells tacit."""


@contextmanager
def the_single_instance(settings: Settings, /) -> Iterator[None]:
    """Be the only service with these settings for as long as the block lasts, or refuse.

    The operating system lets go of the locks of a process that dies, however it does.
    """
    folder, url = settings.data_folder, settings.database_url
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(folder / LOCK):
        if url.startswith(SQLITE):
            with _locked(Path(f"{url.removeprefix(SQLITE)}.lock")):
                yield
        else:
            with _advisory_lock(url):
                yield


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


@contextmanager
def _advisory_lock(url: str) -> Iterator[None]:
    try:
        engine = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
        connection = engine.connect()
    except (ArgumentError, ModuleNotFoundError, DatabaseError) as error:
        raise cannot_be_opened(error) from None
    with connection:
        if make_url(url).get_backend_name() == "postgresql":
            # The server notices within a minute if this machine is gone.
            for name, value in (("idle", 30), ("interval", 10), ("count", 3)):
                connection.execute(text(f"SET tcp_keepalives_{name} = {value}"))
            taken = connection.scalar(text("SELECT pg_try_advisory_lock(:k)"), {"k": ADVISORY_KEY})
            if not taken:
                raise _runs_already("the database")
        yield


def _runs_already(what: str) -> InputError:
    return InputError(f"a platform runs already ({what} is locked by it); stop that one first")
