"""A second platform on the same files or the same database is refused before it does anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlalchemy import create_engine, text

from tacit.errors import InputError
from tacit.service.server.settings import FILE_NAME, Settings
from tacit.service.server.single_instance import ADVISORY_KEY, the_single_instance
from tests.service.postgres import new_database


@pytest.mark.processes
def test_a_second_process_is_refused_and_leaves_the_database_alone(settings: Settings) -> None:
    command = [sys.executable, "-m", "tacit", "service", "run", "--config"]
    database = Path(settings.database_url.removeprefix("sqlite:///"))
    database.unlink()
    with the_single_instance(settings):
        second = subprocess.run(
            [*command, str(Path(settings.folder) / FILE_NAME)],
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert second.returncode == 2
    assert "a platform runs already" in second.stderr
    assert "Traceback" not in second.stderr
    assert not database.exists()


def refused(settings: Settings) -> bool:
    try:
        with the_single_instance(settings):
            return False
    except InputError as error:
        return "a platform runs already" in str(error)


@pytest.mark.parametrize("other", [{"data": "other"}, {"database": "sqlite:///other.db"}])
def test_sharing_half_is_refused_too(settings: Settings, other: dict[str, str]) -> None:
    with the_single_instance(settings):
        assert refused(replace(settings, **other))
    assert not refused(replace(settings, **other))


def test_two_platforms_with_one_postgresql(settings: Settings, postgres_server: str) -> None:
    here = replace(settings, database=new_database(postgres_server))
    with the_single_instance(here):
        assert refused(replace(here, data="other"))
    assert not refused(here)


LOCK = text("SELECT pg_try_advisory_lock(:key)").bindparams(key=ADVISORY_KEY)
_OWN = (
    "FROM pg_locks JOIN pg_database ON pg_database.oid = database"
    " WHERE locktype = 'advisory' AND datname = current_database()"
)
HOLDERS, FORGET = text(f"SELECT pid {_OWN}"), text(f"SELECT pg_terminate_backend(pid) {_OWN}")


def until(fits: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not fits():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def test_a_database_that_forgot_the_lock_is_locked_again(
    settings: Settings, postgres_server: str
) -> None:
    here = replace(settings, database=new_database(postgres_server))
    engine = create_engine(here.database)
    with the_single_instance(here) as lock:
        assert lock is not None
        with engine.connect() as connection:
            (before,) = connection.execute(HOLDERS).scalars()
            assert connection.execute(FORGET).scalar()

            def is_held_again() -> bool:
                lock.look()
                return {*connection.execute(HOLDERS).scalars()} - {before} != set()

            until(is_held_again)
        assert refused(replace(here, data="other"))
    engine.dispose()


def test_who_finds_its_lock_with_another_platform_ends(
    settings: Settings, postgres_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(os, "kill", lambda _, how: {signal.SIGTERM: ended.set}[how]())
    here = replace(settings, database=new_database(postgres_server))
    engine = create_engine(here.database, isolation_level="AUTOCOMMIT")
    with the_single_instance(here) as lock, engine.connect() as other:
        assert lock is not None
        until(lambda: other.execute(FORGET) is not None and bool(other.scalar(LOCK)))

        def is_ending() -> bool:
            lock.look()
            return ended.is_set()

        until(is_ending)
    engine.dispose()
