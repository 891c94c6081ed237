"""Deadlines have a loop of their own, and an answer says how late it really was."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tacit.client import FoundPlans
from tacit.service.execution import run_supervisor
from tacit.service.execution.answer import Answer
from tacit.service.execution.execution_thread import ExecutionThread, UntilServed
from tacit.service.execution.report import Report
from tacit.service.execution.run_supervisor import RunServices, RunSupervisor
from tacit.service.server.settings import Settings
from tacit.service.storage import Database
from tests.service.stand_in import StandIn

SECONDS = 60.0


class Watched(StandIn):
    """It keeps a deadline of its own, and knows when requests are served."""

    def __init__(self, settings: Settings, database: Database, until_served: UntilServed) -> None:
        super().__init__(settings, database)
        self.until_served = until_served
        self.has_answered, self.is_served = threading.Event(), threading.Event()
        self.begin = asyncio.Event()
        self.thread: threading.Thread | None = None

    async def start(self) -> None:
        await super().start()
        self.thread = threading.current_thread()
        self.keeping = asyncio.ensure_future(self.keep())

    async def keep(self) -> None:
        await self.begin.wait()
        await asyncio.sleep(0.05)
        self.has_answered.set()
        await self.until_served()
        self.is_served.set()

    async def draw_up(self, _run_id: str, /) -> None:
        self.begin.set()

    async def stop(self) -> None:
        self.keeping.cancel()
        await super().stop()


def test_a_request_that_holds_the_loop_holds_no_deadline(settings: Settings) -> None:
    database = Database(settings.database_url)
    made: list[Watched] = []

    def make(*given: Any) -> Watched:
        made.append(Watched(*given))
        return made[0]

    async def serve() -> None:
        execution = ExecutionThread(settings, database, make=make)
        await execution.start()
        (watched,) = made
        assert watched.thread is not threading.current_thread()
        await execution.draw_up("r-aaaaaaaaaa")
        # The loop of the requests is held here, until the deadline has been kept on the other one.
        assert watched.has_answered.wait(SECONDS), "the deadline waits for requests"
        assert not watched.is_served.wait(0.05), "nothing can be fetched from a loop that is held"
        assert await asyncio.to_thread(watched.is_served.wait, SECONDS)
        assert await execution.cluster_for_new_run() == "cluster"
        await execution.stop()
        assert not watched.started

    try:
        asyncio.run(serve())
    finally:
        database.close()


def test_errors_reach_whoever_asked(settings: Settings) -> None:
    database = Database(settings.database_url)

    async def serve() -> None:
        execution = ExecutionThread(settings, database, make=lambda s, d, _: StandIn(s, d))
        await execution.start()
        try:
            with pytest.raises(Exception, match="no such run"):
                await execution.cancel("r-aaaaaaaaaa", "no")
        finally:
            await execution.stop()

    try:
        asyncio.run(serve())
    finally:
        database.close()


FOUND = FoundPlans(
    plan=None, disclosed=[], generation=1, evaluations=1, seconds=1.0, late_by_seconds=0.0
)


class SlowDatabase:
    """Its writes take the time that a test says; `written` has their results."""

    def __init__(self, now: list[float], seconds: float) -> None:
        self._now, self._seconds = now, seconds
        self.written: list[Any] = []

    async def write_first(self, query: Callable[[Any], Any]) -> Any:
        done = query(None)
        self._now[0] += self._seconds
        return done

    async def write(self, query: Callable[..., Any], *arguments: Any) -> None:
        self.written.append((query.__name__, *arguments))


@pytest.mark.parametrize(
    ("writes", "serves", "late"), [(0.0, 0.0, None), (19.5, 0.0, 20.5), (0.0, 19.5, 20.5)]
)
def test_an_answer_says_when_it_could_be_fetched(
    monkeypatch: pytest.MonkeyPatch, writes: float, serves: float, late: float | None
) -> None:
    now = [101.0]  # one second after the deadline
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: 0.0)
    monkeypatch.setattr(run_supervisor, "time", clock)
    monkeypatch.setattr(run_supervisor, "set_state", lambda *_, **__: None)

    def answer_of(*_: object, is_due: bool, late_by: float) -> Answer:
        assert is_due
        assert late_by == 1.0
        return Answer("finished", "the deadline came", replace(FOUND, late_by_seconds=late_by))

    monkeypatch.setattr(run_supervisor, "answer_of", answer_of)
    database = SlowDatabase(now, writes)
    counted: list[float] = []
    background: list[asyncio.Task[None]] = []

    async def until_served() -> None:
        now[0] += serves

    def run_ended(*_: object, late_by: float, **__: object) -> None:
        counted.append(late_by)

    def once(_name: str, work: Coroutine[Any, Any, None]) -> None:
        background.append(asyncio.ensure_future(work))

    services = RunServices(
        database=cast(Database, database),
        data=Path(),
        workers=cast(Any, None),
        on_progress=lambda *_: None,
        metrics=cast(Any, SimpleNamespace(run_ended=run_ended)),
        until_served=until_served,
        tasks=cast(Any, SimpleNamespace(once=once)),
    )

    async def answer() -> None:
        supervisor = RunSupervisor("r-aaaaaaaaaa", cast(Any, None), services)
        stored = cast(Any, SimpleNamespace(agreement=None))
        await supervisor._answer(Report(stage="running"), stored, 100.0)
        await asyncio.gather(*background)

    asyncio.run(answer())
    assert counted == [1.0 if late is None else late]
    expected = [] if late is None else [("set_lateness", "r-aaaaaaaaaa", late)]
    assert database.written == expected
