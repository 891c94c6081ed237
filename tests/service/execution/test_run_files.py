"""The files of runs on their way to the database: one that it refuses stops no other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from tacit.client import RunTerms, converted
from tacit.errors import StorageError
from tacit.service.execution import run_files
from tacit.service.execution.report import RunRequest
from tacit.service.execution.run_files import RunFiles
from tacit.service.execution.worker_handle import WorkerHandle, WorkerPool
from tacit.service.storage import (
    Database,
    FilePart,
    Run,
    RunClaim,
    add_warning,
    create_account,
    create_run,
    events_after,
    read_run_file,
)
from tacit.service.storage.run_files import file_size
from tacit.supervisor import Supervisor
from tests.service.example_terms import plain_terms
from tests.service.storage.test_database import BOTH, empty_database

TOO_FAR = 1 << 63
"""No offset of a file: neither database has so large a number."""
AMPLE = 60.0
Store = Callable[[Session, list[run_files._Waiting]], set[RunClaim]]


@pytest.fixture(params=BOTH)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    opened = Database(empty_database(request, tmp_path))
    with opened.writing() as session:
        create_account(session, "op", "operator")
    yield opened
    opened.close()


def claimed(database: Database) -> RunClaim:
    with database.writing() as session:
        run = create_run(session, converted(plain_terms(), RunTerms), by="op")
        session.get_one(Run, run.id).fence = 1
        return RunClaim(run.id, "main", "run", 1)


class Stored:
    """What became of the parts of several runs."""

    def __init__(self, database: Database) -> None:
        self.numbers: dict[str, list[int]] = {}
        self.refused: dict[str, str] = {}
        self._news = asyncio.Event()
        self.files = RunFiles(database, lambda run, _: pytest.fail(f"{run} is not lost"))

    def add(self, claim: RunClaim, part: FilePart) -> None:
        def stored(number: int) -> None:
            self.numbers.setdefault(claim.run_id, []).append(number)
            self._news.set()

        def refused(why: str) -> None:
            self.refused[claim.run_id] = why
            self._news.set()

        self.files.add(claim, part, stored=stored, refused=refused)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(AMPLE):
            while not condition():
                self._news.clear()
                await self._news.wait()


async def one_is_refused(database: Database, good: RunClaim, bad: RunClaim) -> Stored:
    tasks = Supervisor(lambda *_: None)
    stored = Stored(database)
    stored.add(bad, FilePart("ledger.jsonl", b"first", 0, 1))
    stored.files.start(tasks)
    await stored.until(lambda: bad.run_id in stored.numbers)
    stored.add(good, FilePart("ledger.jsonl", b"one", 0, 1))
    stored.add(bad, FilePart("ledger.jsonl", b"lost", TOO_FAR, 2))
    stored.add(good, FilePart("ledger.jsonl", b" two", 3, 2))
    stored.add(bad, FilePart("ledger.jsonl", b"later", 5, 3))
    await stored.until(lambda: bad.run_id in stored.refused)
    stored.add(good, FilePart("ledger.jsonl", b" three", 7, 3))
    await stored.until(lambda: stored.numbers.get(good.run_id) == [1, 2, 3])
    await tasks.close()
    return stored


def test_only_the_run_whose_part_is_refused_is_given_up(database: Database) -> None:
    good, bad = claimed(database), claimed(database)
    stored = asyncio.run(one_is_refused(database, good, bad))
    assert list(stored.refused) == [bad.run_id]
    assert stored.numbers == {good.run_id: [1, 2, 3], bad.run_id: [1]}
    with database.reading() as session:
        assert read_run_file(session, good.run_id, "ledger.jsonl") == b"one two three"
        assert read_run_file(session, bad.run_id, "ledger.jsonl") == b"first"


def test_a_database_that_is_away_while_parts_are_stored_one_by_one_loses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(f"sqlite:///{tmp_path}/tacit.db")
    with database.writing() as session:
        create_account(session, "op", "operator")
    good, bad = claimed(database), claimed(database)
    away = iter([False, True, False, True])
    real: Store = run_files._store

    def store(session: Session, waiting: list[run_files._Waiting]) -> set[RunClaim]:
        runs = {each.claim for each in waiting}
        if bad in runs and any(each.part.offset == TOO_FAR for each in waiting):
            if len(runs) == 1 and next(away, False):
                raise StorageError("the database cannot be used right now; try again in a minute")
            raise ValueError("out of range")
        if runs == {good} and next(away, False):
            raise StorageError("the database cannot be used right now; try again in a minute")
        return real(session, waiting)

    monkeypatch.setattr(run_files, "_store", store)
    monkeypatch.setattr(run_files, "PAUSE_SECONDS", 0.001)
    stored = asyncio.run(one_is_refused(database, good, bad))
    assert (list(stored.refused), stored.numbers[good.run_id]) == ([bad.run_id], [1, 2, 3])
    database.close()


class SilentProcess:
    """A worker's process that waits for the word that its part is stored."""

    def __init__(self, line: socket.socket) -> None:
        # The pool's own end is closed as soon as the process has started.
        self.line = line.dup()

    def kill(self) -> None:
        self.line.close()


class SilentPool(WorkerPool):
    async def start(self, _target: object, *arguments: object) -> Any:
        return SilentProcess(cast(socket.socket, arguments[0]))

    async def reap(self, process: object, /) -> None:
        """Nothing is there."""


def test_a_worker_that_waits_for_a_refused_part_has_ended_for_good() -> None:
    async def work() -> WorkerHandle:
        worker = WorkerHandle(SilentPool(), cast(RunRequest, None), lambda _: None)
        await worker.start()
        worker.give_up("out of range")
        async with asyncio.timeout(AMPLE):
            await worker.has_ended.wait()
            await worker.is_ready.wait()
        await worker.end()
        return worker

    last = asyncio.run(work()).last
    assert (last.stage, last.error, last.can_retry) == ("failed", "out of range", False)


def test_a_ledger_may_be_larger_than_two_gibibytes(database: Database) -> None:
    claim = claimed(database)

    async def work() -> None:
        tasks = Supervisor(lambda *_: None)
        stored = Stored(database)
        stored.files.start(tasks)
        stored.add(claim, FilePart("ledger.jsonl", b"far", 3 << 30, 1))
        await stored.until(lambda: bool(stored.numbers or stored.refused))
        assert not stored.refused
        await tasks.close()

    asyncio.run(work())
    with database.reading() as session:
        assert file_size(session, claim.run_id, "ledger.jsonl") == (3 << 30) + 3


def test_events_have_numbers_beyond_32_bits(database: Database) -> None:
    claim = claimed(database)
    far = 3 << 30
    with database.writing() as session:
        if session.get_bind().dialect.name == "postgresql":
            session.execute(text(f"ALTER SEQUENCE event_id_seq AS bigint RESTART WITH {far}"))
        else:
            session.execute(text(f"UPDATE sqlite_sequence SET seq = {far - 1} WHERE name='event'"))
    with database.writing() as session:
        add_warning(session, claim.run_id, "a long life")
    with database.reading() as session:
        assert events_after(session, far - 1)[0].id == far
