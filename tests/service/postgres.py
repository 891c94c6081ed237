"""A PostgreSQL server for one test, where its programs are installed."""

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

import pytest


def _programs() -> Path:
    for place in (
        shutil.which("initdb"),
        *map(str, Path("/usr/lib/postgresql").glob("*/bin/initdb")),
    ):
        if place is not None:
            return Path(place).parent
    pytest.skip("there is no PostgreSQL here")


def _as_nobody() -> dict[str, Any]:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    pytest.skip("PostgreSQL does not run as root, and there is nobody else")


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a fresh server, reached by a socket in a folder of its own."""
    pytest.importorskip("psycopg")
    programs, who = _programs(), _as_nobody()
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
