"""A last report is stored with what it was made of: delays make no honest platform blamed."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacit.agreement import Agreement, canonical
from tacit.derived import agreed_parameters
from tacit.records import Disclosed, DisclosedBest
from tacit.records.ledger import FileLedger, Keep, encode_entry, read_ledger
from tacit.runs import LEDGER
from tacit.runs.agreed import AgreedEvaluating
from tacit.runs.agreed_ledger import objectives_from
from tacit.runs.limits import Limits
from tacit.service.execution import run_supervisor as supervising
from tacit.service.execution import worker as working
from tacit.service.execution.agreed_runs import StoredAgreement
from tacit.service.execution.cancelling import cancel_run
from tacit.service.execution.executor import Executor
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.report import RunRequest
from tacit.service.execution.run_files import RunFiles
from tacit.service.execution.run_supervisor import RunSupervisor
from tacit.service.server.settings import Settings
from tacit.service.storage import (
    Database,
    Run,
    claim_work,
    create_account,
    create_run,
    read_run,
    read_run_file,
)
from tacit.supervisor import Supervisor
from tacit.verify import Claim, Finding, check_run
from tests.on_nodes.recorded import recorded
from tests.service.example_terms import example_terms

DEADLINE = 30.0
"""Ample: the run ends by itself."""
AGREEMENT, LOGS, ENTRIES = recorded("evaluating")


class HeldStore:
    """A database where the files of runs wait their turn, from the reveal to the answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_slow = False
        self.stored = threading.Event()
        self.answered = asyncio.Event()

    async def write(self, query: Callable[..., Any], *arguments: object) -> object:
        if self.is_slow:
            await self.answered.wait()
        done = await self._database.write(query, *arguments)
        self.stored.set()
        return done


class RecordedReveal:
    """Nodes that answer as it was recorded, and reveal the best plan."""

    def __init__(self, before: Callable[[], None]) -> None:
        self._before = before

    @contextmanager
    def driver(
        self, _agreed: object, _cluster: object, folder: Path, /, *, keep: Keep
    ) -> Iterator[AgreedEvaluating]:
        recorded_ledger = folder / "recorded.jsonl"
        recorded_ledger.write_bytes(b"".join(map(encode_entry, ENTRIES)))
        parameters = agreed_parameters(AGREEMENT)
        evaluator = objectives_from(
            AGREEMENT, AGREEMENT.known_problem, recorded_ledger, estimator=parameters.estimator
        )
        ledger = FileLedger(folder / LEDGER, keep=keep)
        final = [each for each in ENTRIES if isinstance(each.payload, DisclosedBest)]
        for each in ENTRIES:
            if each not in final:
                ledger.add(each)

        def reveal_best(_plans: object, *, until: float | None) -> int:
            assert until is not None
            self._before()
            (entry,) = final
            assert isinstance(entry.payload, DisclosedBest)
            ledger.add(entry)
            return entry.payload.index

        cast("Any", evaluator.objectives[0]).reveal_best = reveal_best
        answers = sum(each not in final for each in ENTRIES)
        assert AGREEMENT.search.seed is not None
        yield AgreedEvaluating(
            AGREEMENT.known_problem,
            parameters,
            evaluator,
            seed=AGREEMENT.search.seed,
            limits=Limits(evaluations=answers),
            reveals=True,
            engine="nodes",
            folder=folder,
            keep=keep,
        )
        ledger.close()


class Threads:
    """Workers that are threads of this process."""

    async def start(self, _target: object, line: socket.socket, request: RunRequest) -> object:
        # The handle closes its own end once the process has one.
        own = line.dup()

        def work() -> None:
            working.Worker(own, request).run()
            # Also for the thread that reads, which has the socket open, too.
            with suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)
            own.close()

        threading.Thread(target=work, daemon=True).start()
        return SimpleNamespace(kill=lambda: None)

    async def reap(self, _process: object) -> None:
        """Threads end by themselves."""


@dataclass
class RunUnderWay:
    database: Database
    run_id: str
    settings: Settings
    slow: HeldStore = field(init=False)

    def __post_init__(self) -> None:
        self.slow = HeldStore(self.database)

    def claimed(self) -> HeldRun:
        with self.database.writing() as session:
            read_run(session, self.run_id).owner = None
        with self.database.writing() as session:
            claim = claim_work(session, "here", {"cluster": 1})
        assert claim is not None
        return HeldRun(self.database, claim)

    def supervisor(self, run: HeldRun, tasks: Supervisor) -> RunSupervisor:
        executor = Executor(self.settings, self.database)
        files = RunFiles(cast("Database", self.slow), lambda *_: None)
        files.start(tasks)
        services = supervising.RunServices(
            files,
            cast("Any", Threads()),
            lambda *_: None,
            executor._services.metrics,
            tasks,
            executor._services.until_served,
        )
        return RunSupervisor(run, executor._links["cluster"], services)

    @property
    def run(self) -> Run:
        with self.database.reading() as session:
            return read_run(session, self.run_id)

    def ledger(self) -> list[Disclosed]:
        with self.database.reading() as session:
            return read_ledger(read_run_file(session, self.run_id, LEDGER) or b"")

    def checked(self) -> list[Finding]:
        """What every participant's check says."""
        result = self.run.result
        assert result is not None
        assert result.plan is not None
        claim = Claim(result.plan.items, result.generation)
        return check_run(AGREEMENT, LOGS, self.ledger(), claim)


def agreed(agreement: Agreement, run_id: str) -> StoredAgreement:
    rows: list[Any] = [
        SimpleNamespace(participant=owner.participant, objective=k, manifest=b"")
        for k in agreement.confidential()
        for owner in agreement.objectives[k].owners
    ]
    return StoredAgreement(
        run_id, "running", "cluster", "desk", 1.0, canonical(agreement), agreement, {}, rows
    )


@pytest.fixture
def platform(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunUnderWay]:
    """A run under way, which is due in a moment."""
    database = Database(settings.database_url)
    with database.writing() as session:
        create_account(session, "desk", "operator")
        run = create_run(session, example_terms(), by="desk")
        run.state, run.cluster, run.agreement = "running", "cluster", canonical(AGREEMENT)
        run.deadline_at = time.time() + DEADLINE
        run_id = run.id
    platform = RunUnderWay(database, run_id, settings)
    monkeypatch.setattr(supervising, "stored_agreement", lambda *_: agreed(AGREEMENT, run_id))
    monkeypatch.setattr(working, "load_cluster_config", lambda _: None)
    # A thread that loses its line must not end this process.
    monkeypatch.setattr(working, "os", SimpleNamespace(_exit=lambda _: None, close=os.close))
    yield platform
    database.close()


def test_a_revealed_plan_is_the_answer_however_long_its_entry_takes_to_be_stored(
    platform: RunUnderWay, monkeypatch: pytest.MonkeyPatch
) -> None:
    def before() -> None:
        platform.slow.is_slow = True

    monkeypatch.setattr(working, "agreed_driver", RecordedReveal(before).driver)

    async def work() -> None:
        tasks = Supervisor(lambda *_: None)
        run = platform.claimed()
        answer = run.answer

        async def answered(query: Callable[..., Any]) -> object:
            done = await answer(query)
            platform.slow.answered.set()
            return done

        monkeypatch.setattr(run, "answer", answered)
        assert await platform.supervisor(run, tasks).run()
        await tasks.close()

    asyncio.run(work())
    assert platform.run.state == "finished"
    assert [each for each in platform.checked() if not each.ok] == []
    assert [each for each in platform.ledger() if isinstance(each.payload, DisclosedBest)]


@pytest.mark.parametrize("then", ["taken up", "cancelled"])
def test_what_is_stored_when_a_worker_dies_has_the_plan_of_its_ledger(
    platform: RunUnderWay, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    monkeypatch.setattr(working, "agreed_driver", RecordedReveal(lambda: None).driver)

    async def until_stored() -> None:
        """It dies as soon as the entry is stored, before the answer is."""
        tasks = Supervisor(lambda *_: None)
        run, dead = platform.claimed(), asyncio.Event()

        async def never(_query: object) -> None:
            await dead.wait()

        monkeypatch.setattr(run, "answer", never)
        supervising_run = asyncio.ensure_future(platform.supervisor(run, tasks).run())
        while not any(isinstance(each.payload, DisclosedBest) for each in platform.ledger()):
            await asyncio.sleep(0.01)
        supervising_run.cancel()
        with suppress(asyncio.CancelledError):
            await supervising_run
        await tasks.close()

    async def take_up() -> None:
        tasks = Supervisor(lambda *_: None)
        assert await platform.supervisor(platform.claimed(), tasks).run()
        await tasks.close()

    asyncio.run(until_stored())
    if then == "taken up":
        with platform.database.writing() as session:
            read_run(session, platform.run_id).deadline_at = time.time()
        asyncio.run(take_up())
        assert platform.run.state == "finished"
    else:
        with platform.database.writing() as session:
            cancel_run(session, platform.run_id, "stop")
    assert [each for each in platform.checked() if not each.ok] == []
