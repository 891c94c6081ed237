"""A database that cannot be written for a while, as when somebody copies or repairs it."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tacit import supervisor
from tacit.errors import NodesError, StorageError
from tacit.service.execution import api_execution
from tacit.service.execution import executor as executing
from tacit.service.execution.agreed_runs import StoredAgreement
from tacit.service.execution.api_execution import ApiExecution
from tacit.service.execution.executor import Executor, _Held
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.report import Report
from tacit.service.execution.run_supervisor import RunSupervisor
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Database,
    Run,
    claim_work,
    create_account,
    create_run,
    read_run,
)
from tacit.service.storage import (
    database as storing,
)
from tests.on_nodes.fixtures import example_cast
from tests.service.example_terms import example_terms

HELD_SECONDS = 0.4


@pytest.fixture
def database(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(storing, "BUSY_SECONDS", 0)
    opened = Database(settings.database_url)
    yield opened
    opened.close()


@pytest.fixture
def run_id(database: Database) -> str:
    with database.writing() as session:
        create_account(session, "desk", "operator")
        run = create_run(session, example_terms(), by="desk")
        run.state = "running"
        run.cluster = "cluster"
        return run.id


def held_run(database: Database, run_id: str) -> HeldRun:
    """As this process has it once it has claimed it."""
    with database.writing() as session:
        claim = claim_work(session, "here", {"cluster": 1})
    assert claim is not None
    assert claim.run_id == run_id
    return HeldRun(database, claim)


def stored_run(database: Database, run_id: str) -> Run:
    with database.reading() as session:
        return read_run(session, run_id)


@contextmanager
def held(settings: Settings) -> Iterator[None]:
    path = Path(settings.database_url.removeprefix("sqlite:///"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


async def while_held(settings: Settings) -> None:
    with held(settings):
        await asyncio.sleep(HELD_SECONDS)


def agreed(run_id: str) -> StoredAgreement:
    return StoredAgreement(
        run_id, "running", "cluster", "desk", 1.0, b"", example_cast().agreement, {}, []
    )


def test_an_answer_is_stored_as_soon_as_it_can_be(
    settings: Settings, database: Database, run_id: str
) -> None:
    executor = Executor(settings, database)
    links, run = executor._links["cluster"], held_run(database, run_id)
    supervisor = RunSupervisor(run, links, executor._services)
    supervisor._until = time.monotonic()
    supervisor._earlier = Report(stage="running", generation=1, plans=[[1, 0]])

    async def work() -> None:
        await asyncio.gather(while_held(settings), supervisor._answer(agreed(run_id)))

    asyncio.run(work())
    ended = stored_run(database, run_id)
    assert (ended.state, ended.result is not None) == ("finished", True)


def test_whatever_goes_wrong_a_run_is_given_back(
    settings: Settings, database: Database, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, run = Executor(settings, database), held_run(database, run_id)

    async def broken(_: RunSupervisor) -> bool:
        raise RuntimeError("a mistake")

    monkeypatch.setattr(RunSupervisor, "run", broken)

    async def work() -> None:
        await asyncio.gather(while_held(settings), executor._work(_Held(run)))

    asyncio.run(work())
    stored = stored_run(database, run_id)
    assert (stored.state, stored.owner) == ("running", None)
    assert stored.look_at is not None, "it is tried again, and not at once"


def test_a_node_that_hangs_is_no_error_of_the_platform(
    settings: Settings, database: Database, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hanging:
        fetch_logs = fetch_heads = None

        async def start_agreement(self, *_: object, **__: object) -> None:
            raise TimeoutError

    found = SimpleNamespace(coordinator=lambda stored: Hanging())
    execution = ApiExecution(settings, database)
    monkeypatch.setattr(execution, "_links_of", lambda cluster: found)
    signatures = dict.fromkeys(("a", "b", "c", "d"), b"")
    monkeypatch.setattr(
        api_execution,
        "stored_agreement",
        lambda session, run: replace(agreed(run), state="running", signatures=signatures),
    )
    with pytest.raises(NodesError, match="did not answer in time"):
        asyncio.run(execution.fetch_logs(run_id, bytes(16)))


def test_progress_is_told_again_afterwards(
    settings: Settings, database: Database, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executing, "WRITE_EVERY_SECONDS", 0.02)
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.02)
    executor = Executor(settings, database)
    run = held_run(database, run_id)
    supervised = RunSupervisor(run, executor._links["cluster"], executor._services)
    executor._held[run_id] = _Held(run, supervisor=supervised)

    async def work() -> None:
        every = executing.WRITE_EVERY_SECONDS
        executor.tasks.every(every, "progress of runs", executor._write_progress)
        executor._progress[run_id] = Report(stage="running", generation=1)
        await while_held(settings)
        until = time.monotonic() + 120
        while stored_run(database, run_id).progress is None:
            assert time.monotonic() < until, "nobody tells of progress any more"
            executor._progress[run_id] = Report(stage="running", generation=2)
            await asyncio.sleep(0.02)
        await executor.tasks.close()

    asyncio.run(work())


def test_what_cannot_be_written_now_is_told_from_mistakes(
    settings: Settings, database: Database
) -> None:
    async def work() -> None:
        with (
            held(settings),
            pytest.raises(StorageError, match="cannot be used right now"),
        ):
            await database.write(create_account, "north", "participant")
        await database.write(create_account, "north", "participant")

    asyncio.run(work())
