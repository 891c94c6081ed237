"""Allow one process per SQLite file: it takes runs over without waiting for leases to expire."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from tacit.errors import InputError
from tacit.service.server.settings import Settings
from tacit.service.storage.database import SQLITE


def the_single_instance(settings: Settings, /) -> AbstractContextManager[None]:
    """Be the only service on an SQLite file for as long as the block lasts, or refuse.

    With a database server there may be any number; each run belongs to one of them at a time.
    """
    url = settings.database_url
    if not url.startswith(SQLITE):
        return nullcontext()
    return _locked(Path(f"{url.removeprefix(SQLITE)}.lock"))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    # A lock of the operating system, not a file with a process number: however a process dies, its
    # locks are released, and a restart never has to guess whether one is stale.
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise InputError(f"{path} cannot be opened ({error.strerror}); see service.toml") from None
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"a platform runs already ({path} is locked by it); stop that one first"
            ) from None
        yield
    finally:
        os.close(file)
