"""A PostgreSQL server of our own, in a folder that goes with it; databases in it cost little."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import create_engine, text

ACCOUNTS = ("postgres", "nobody")
"""Whose the server is where tests run as root: PostgreSQL refuses to."""


def _programs() -> Path:
    """The folder of `initdb` and `pg_ctl`: Debian has them in none of the usual ones."""
    places = [shutil.which("initdb"), *Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found = [Path(place).parent for place in places if place is not None]
    assert found, "there is no PostgreSQL here; `make debian` installs it"
    return found[-1]


def _not_root() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name for entry in pwd.getpwall()}
    entry = pwd.getpwnam(next(name for name in ACCOUNTS if name in names))
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a fresh server, reached by a socket in a folder of its own."""
    programs, who = _programs(), _not_root()
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    if who:
        os.chown(folder, who["user"], who["group"])

    def run(*words: str) -> None:
        subprocess.run(words, check=True, cwd=folder, timeout=60, stdout=subprocess.DEVNULL, **who)

    data = str(folder / "data")
    try:
        run(f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "tacit", "--no-sync")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run(f"{programs}/pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql+psycopg://tacit@/postgres?host={folder}"
        finally:
            run(f"{programs}/pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(server: str) -> str:
    """The URL of an empty database on the server."""
    name = f"tacit_{uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")
