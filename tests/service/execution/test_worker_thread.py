"""Deadlines have a loop of their own, and an answer says how late it really was."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from tacit.client import FoundPlans
from tacit.service.execution import run_supervisor
from tacit.service.execution.answer import Answer
from tacit.service.execution.executor import Executor
from tacit.service.execution.run_supervisor import RunServices, RunSupervisor
from tacit.service.execution.worker_thread import WorkerThread
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import Database
from tacit.supervisor import Supervisor

SECONDS = 60.0


class Watched:
    """It keeps a deadline of its own, and knows when requests are served."""

    def __init__(
        self,
        _settings: Settings,
        _database: Database,
        /,
        *,
        until_served: Callable[[], Awaitable[None]],
        metrics: object,  # noqa: ARG002 - as an executor
    ) -> None:
        self.until_served = until_served
        self.tasks = Supervisor(lambda *_: None)
        self.has_answered, self.is_served = threading.Event(), threading.Event()
        self.begin = asyncio.Event()
        self.thread: threading.Thread | None = None

    async def start(self) -> None:
        self.thread = threading.current_thread()
        self.keeping = asyncio.ensure_future(self.keep())

    async def keep(self) -> None:
        await self.begin.wait()
        await asyncio.sleep(0.05)
        self.has_answered.set()
        await self.until_served()
        self.is_served.set()

    def look_now(self) -> None:
        self.begin.set()

    async def stop(self) -> None:
        self.keeping.cancel()


def test_a_request_that_holds_the_loop_holds_no_deadline(settings: Settings) -> None:
    made: list[Watched] = []

    def make(*given: Any, **options: Any) -> Executor:
        made.append(Watched(*given, **options))
        return cast(Executor, made[0])

    async def serve() -> None:
        worker = WorkerThread(settings, cast(Database, None), ServiceMetrics(), make=make)
        await worker.start()
        (watched,) = made
        assert watched.thread is not threading.current_thread()
        worker.look_now()
        # The loop of the requests is held here, until the deadline has been kept on the other one.
        assert watched.has_answered.wait(SECONDS), "the deadline waits for requests"
        assert not watched.is_served.wait(0.05), "nothing can be fetched from a loop that is held"
        assert await asyncio.to_thread(watched.is_served.wait, SECONDS)
        await worker.stop()

    asyncio.run(serve())


FOUND = FoundPlans(
    plan=None, disclosed=[], generation=1, evaluations=1, seconds=1.0, late_by_seconds=0.0
)


class SlowRun:
    """A run whose writes take the time that a test says; `written` has their results."""

    id, claim = "r-aaaaaaaaaa", None

    def __init__(self, now: list[float], seconds: float) -> None:
        self._now, self._seconds = now, seconds
        self.written: list[Any] = []

    async def answer(self, query: Callable[[Any], Any]) -> Any:
        done = query(None)
        self._now[0] += self._seconds
        return done

    async def correct(self, query: Callable[..., Any], *arguments: Any) -> None:
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
    run = SlowRun(now, writes)
    counted: list[float] = []
    background: list[asyncio.Task[None]] = []

    async def until_served() -> None:
        now[0] += serves

    def run_ended(*_: object, late_by: float, **__: object) -> None:
        counted.append(late_by)

    def once(_name: str, work: Coroutine[Any, Any, None]) -> None:
        background.append(asyncio.ensure_future(work))

    services = RunServices(
        files=cast(Any, SimpleNamespace(unstored=lambda _: [])),
        workers=cast(Any, None),
        on_progress=lambda *_: None,
        metrics=cast(Any, SimpleNamespace(run_ended=run_ended)),
        until_served=until_served,
        tasks=cast(Any, SimpleNamespace(once=once)),
    )

    async def answer() -> None:
        supervisor = RunSupervisor(cast(Any, run), cast(Any, None), services)
        supervisor._until = 100.0
        await supervisor._answer(cast(Any, SimpleNamespace(agreement=None)))
        await asyncio.gather(*background)

    asyncio.run(answer())
    assert counted == [1.0 if late is None else late]
    expected = [] if late is None else [("set_lateness", "r-aaaaaaaaaa", late)]
    assert run.written == expected
