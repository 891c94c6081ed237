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


class PostgresServer:
    """Reached by a socket in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._programs, self._who = folder, _programs(), _not_root()
        if self._who:
            os.chown(folder, self._who["user"], self._who["group"])
        initdb = f"{self._programs}/initdb"
        self._run(initdb, "-D", self._data, "-A", "trust", "-U", "tacit", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://tacit@/postgres?host={self._folder}"

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def start(self) -> None:
        options = f"-k {self._folder} -c listen_addresses='' -c fsync=off"
        self._control("-w", "-l", f"{self._folder}/log", "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        self._control("-m", how, "-w", "stop")

    def _control(self, *words: str) -> None:
        self._run(f"{self._programs}/pg_ctl", "-D", self._data, *words)

    def _run(self, *words: str) -> None:
        options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "timeout": 300, **self._who}
        subprocess.run(words, check=True, cwd=self._folder, **options)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A fresh server, which runs."""
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-"))
    try:
        server = PostgresServer(folder)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a fresh server."""
    with postgres_server() as server:
        yield server.url


def new_database(server: str) -> str:
    """The URL of an empty database on the server."""
    name = f"tacit_{uuid4().hex}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")
