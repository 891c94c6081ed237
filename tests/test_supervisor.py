"""Background tasks outlive their errors: one supervisor, and each periodic task killed once."""

from __future__ import annotations

import ast
import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

import tacit
from tacit import supervisor
from tacit.agreement.terms import agreement_hash, canonical
from tacit.errors import StorageError
from tacit.identity.cluster import write_cluster
from tacit.identity.config import load_node_config
from tacit.local.cluster import free_addresses
from tacit.node.metrics import NodeMetrics
from tacit.node.server import Node
from tacit.records.events import NodeFault
from tacit.records.log import verify_log
from tacit.service.execution.agreed_runs import StoredAgreement
from tacit.service.execution.api_execution import ApiExecution
from tacit.service.execution.held_run import HeldRun
from tacit.service.execution.report import Report
from tacit.service.execution.run_supervisor import RunSupervisor
from tacit.service.server.app import make_app
from tacit.service.server.serve import make_server
from tacit.service.server.settings import Settings
from tacit.service.storage import Account, Database, RunClaim, create_account, create_run
from tacit.service.workflow.inviting import invite_members
from tacit.supervisor import Supervisor, log_failures
from tests.on_nodes.fixtures import example_cast
from tests.service.example_terms import example_terms
from tests.service.world import executing
from tests.support.platform import generous

ROOT = Path(tacit.__file__).parent
AMPLE_SECONDS = 120.0


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.001)


async def comes_true(is_true: Callable[[], object]) -> None:
    async with asyncio.timeout(AMPLE_SECONDS):
        while not is_true():
            await asyncio.sleep(0.005)


def test_a_round_that_fails_is_reported_counted_and_tried_again() -> None:
    said: list[str] = []
    tried: list[int] = []

    async def work() -> None:
        tried.append(len(tasks.health))
        if len(tried) < 4:
            raise StorageError(f"away {len(tried)}")

    async def supervise() -> None:
        task = tasks.every(3600, "an example", work)
        await comes_true(lambda: tasks.health["an example"].failing)
        await comes_true(lambda: len(tried) == 4 and not tasks.health["an example"].failing)
        await tasks.close()
        assert task.cancelled()

    tasks = Supervisor(lambda name, error: said.append(f"{name}: {error}"))
    asyncio.run(supervise())
    assert said == [f"an example: away {i}" for i in (1, 2, 3)]
    assert tasks.health["an example"].failures == 3


def test_pauses_after_errors_grow_and_end_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    fails = iter([True] * 6 + [False, False, True, False])
    expected = [1.0, 2.0, 4.0, 5.0, 5.0, 5.0, 3.0, 3.0, 1.0, 3.0]

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == len(expected):
            raise asyncio.CancelledError

    def work() -> None:
        if next(fails):
            raise RuntimeError

    async def supervise() -> None:
        with pytest.raises(asyncio.CancelledError):
            await tasks.every(3.0, "an example", work)

    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 1.0)
    monkeypatch.setattr(supervisor, "LONGEST_PAUSE", 5.0)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    tasks = Supervisor(lambda name, error: None)
    asyncio.run(supervise())
    assert slept == expected


def test_what_is_cancelled_inside_a_task_does_not_end_it() -> None:
    """As when a request to a node is cancelled with its link, while a task waits for it."""
    tried = 0

    async def work() -> None:
        nonlocal tried
        tried += 1
        if tried == 1:
            inner = asyncio.get_running_loop().create_future()
            inner.cancel()
            await inner

    async def supervise() -> None:
        tasks.until_done("an example", work)
        await comes_true(lambda: tried == 2)
        await tasks.close()

    tasks = Supervisor(lambda name, error: None)
    asyncio.run(supervise())
    assert tasks.health["an example"].failures == 1


def test_a_task_that_loses_a_cancellation_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "CANCEL_AGAIN_SECONDS", 0.05)
    lost: list[str] = []

    async def loses_one() -> None:
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                if lost:
                    raise
                lost.append("one")

    async def supervise() -> None:
        tasks = Supervisor(lambda name, error: None)
        tasks.once("an example", loses_one())
        await asyncio.sleep(0)
        async with asyncio.timeout(60):
            await tasks.close()

    asyncio.run(supervise())
    assert lost == ["one"]


def test_a_mistake_is_logged_with_its_trace_and_what_may_pass_in_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    report = log_failures(logging.getLogger("an example"))
    report("one", StorageError("the database is away"))
    report("two", RuntimeError("a mistake"))
    first, second = caplog.records
    assert (first.levelname, first.exc_info) == ("WARNING", None)
    assert cast(Any, first).fields == {"task": "one", "what": "the database is away"}
    assert second.levelname == "ERROR"
    assert second.exc_info is not None


# All tasks of a node and of a platform.


SHORT_LIVED: Mapping[str, str] = {
    "node/platform_connection.py:_begin": "one request, whose errors all become replies",
    "node/presence.py:ask": "one question to a peer",
    "node/process.py:serve": "waits for the end of the input, and ends the node",
    "node/processes.py:__init__": "sends to one computation, which ends it",
    "node/processes.py:_open": "receives for one computation, which ends it",
    "node/threads.py:_loop": "a thread that only runs an event loop",
    "node/threads.py:start": "one computation, for which the caller waits",
    "node/threads.py:to_the_end": "one computation, for which the caller waits",
    "service/background.py:_said": "one call in a process of its own, for which the caller waits",
    "service/execution/executor.py:_look": "a timer of what is looked at every second",
    "service/execution/worker_thread.py:start": "a thread that only runs an event loop",
    "service/execution/worker.py:__init__": "ends the worker with the platform",
    "service/execution/worker_handle.py:start": "reads from one worker, until that ends",
    "service/server/status.py:_asked": "one question, for which the caller waits",
    "service/server/serve.py:_wait_for_head": "the timer of one connection",
    "service/server/serve.py:main": "waits for the end of the input, and ends the platform",
}
"""What starts a task, thread or timer without the supervisor: by file and function, what it is."""
STARTS = {"create_task", "ensure_future", "Thread", "Timer", "call_later", "call_at", "TaskGroup"}
PERIODIC = {"every": 1, "until_done": 0}
"""Methods of the supervisor with the place of the task's name among their arguments."""


def calls(room: str) -> Iterator[tuple[str, str, ast.Call]]:
    """All calls in a room of the house: file and function, what is called, and the call."""
    for path in sorted((ROOT / room).rglob("*.py")):
        tree = ast.parse(path.read_text())
        where = f"{path.relative_to(ROOT)}:"
        inside: dict[ast.AST, str] = {}
        # From outside to inside, so that the innermost function counts.
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                inside |= dict.fromkeys(ast.walk(function), function.name)
        for call in ast.walk(tree):
            if isinstance(call, ast.Call):
                named = call.func
                name = named.attr if isinstance(named, ast.Attribute) else ""
                name = named.id if isinstance(named, ast.Name) else name
                yield where + inside.get(call, ""), name, call


def periodic(room: str) -> set[str]:
    """The names of all tasks that a room has supervised for as long as it runs."""
    names: set[str] = set()
    for where, called, call in calls(room):
        if called in PERIODIC and len(call.args) > PERIODIC[called] + 1:
            name = call.args[PERIODIC[called]]
            assert isinstance(name, ast.Constant), f"{where} does not name its task"
            names.add(str(name.value))
    return names


def test_no_task_goes_on_without_the_supervisor() -> None:
    """A loop in a bare task ends with its first error. Whoever adds a task says here what it is."""
    found = {
        where
        for room in ("node", "service")
        for where, called, _ in calls(room)
        if called in STARTS
    }
    assert found == {*SHORT_LIVED}


class Killing:
    """Lets the first round of each task raise an error, and counts the rounds that follow."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rounds: Counter[str] = Counter()
        honest = Supervisor._round

        async def round_of(
            tasks: Supervisor, name: str, work: Callable[[], Awaitable[object] | None]
        ) -> bool:
            self.rounds[name] += 1

            def killed() -> None:
                raise RuntimeError(f"{name} is killed")

            return await honest(tasks, name, killed if self.rounds[name] == 1 else work)

        monkeypatch.setattr(Supervisor, "_round", round_of)

    async def wait(self, names: set[str]) -> None:
        await comes_true(lambda: all(self.rounds[name] > 1 for name in names))


def test_each_task_of_a_node_is_killed_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    *addresses, metrics = free_addresses(4)
    write_cluster(tmp_path, addresses)
    node = Node(replace(load_node_config(tmp_path / "node-2.toml"), metrics=metrics))
    killing, names = Killing(monkeypatch), periodic("node")

    async def work() -> None:
        stop = asyncio.Event()
        running = asyncio.ensure_future(node.run(stop))
        await killing.wait(names)
        stop.set()
        await running

    asyncio.run(work())
    assert names >= {"tidying", "expiry of certificates", "links to peers"}
    assert isinstance(node.metrics, NodeMetrics)
    read = node.metrics.registry.get_sample_value
    said = verify_log((tmp_path / "node-2.data" / "log.jsonl").read_bytes())
    faults = [event.what for event in said if isinstance(event, NodeFault)]
    for name in names:
        assert node.tasks.health[name].failures >= 1
        assert (read("tacit_node_task_failures_total", {"task": name}) or 0) >= 1
        assert any(f"{name} is killed" in each for each in faults)


class Worker:
    """Stands in for a worker that reports once, and never ends."""

    def __init__(self) -> None:
        self.has_ended = asyncio.Event()
        self.last = Report(stage="running", generation=0)

    def begin(self, _until: float, /) -> None:
        """It has begun already."""


def fill(database: Database, settings: Settings) -> str:
    """Make a run that waits for its agreement, one to be handed over, and one that is running."""
    with database.writing() as session:
        create_account(session, "desk", "operator")
        for state in ("invited", "agreed", "submitted"):
            run = create_run(session, example_terms(), by="desk")
            run.cluster = settings.cluster[0].name
            if state == "invited":
                invite_members(session, settings, run.id, run.cluster)
                for number, name in enumerate(run.terms.participants):
                    session.get_one(Account, name).signing_key = f"{number:064x}"
            else:
                agreement = example_cast().agreement
                run.agreement = canonical(agreement)
                run.agreement_hash = agreement_hash(agreement).hex()
                run.state = "agreed" if state == "agreed" else "draft"
        return run.id


def test_each_task_of_a_platform_is_killed_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = write_cluster(tmp_path / "cluster", free_addresses(3))[-1]
    settings = generous(tmp_path / "platform", cluster)
    app = make_app(settings, execution=executing)
    execution, names = app.state.platform.execution, periodic("service")
    assert isinstance(execution, ApiExecution)
    assert execution._worker is not None
    executor = execution._worker._executor
    names -= {"listening for events"}  # of a database server, which SQLite is not
    run_id = fill(app.state.platform.database, settings)
    killing = Killing(monkeypatch)

    async def work() -> None:
        server = make_server(settings, app)
        serving = asyncio.ensure_future(server.serve())
        await comes_true(lambda: server.started or serving.done())
        # A run with a worker of this test's own: its reports are passed on until its deadline.
        links = next(iter(executor._links.values()))
        run = HeldRun(app.state.platform.database, RunClaim(run_id, "c", "run", 0))
        monkeypatch.setattr(run, "write", lambda *_: asyncio.sleep(0))
        running = RunSupervisor(run, links, executor._services)
        monkeypatch.setattr("tacit.service.execution.run_supervisor.set_state", lambda *_, **__: 0)
        monkeypatch.setattr(running, "_answer", lambda *_: asyncio.sleep(0))
        agreed = StoredAgreement(
            run_id, "submitted", "c", "desk", 3600.0, b"", example_cast().agreement, {}, []
        )
        searching = asyncio.ensure_future(running._search(cast(Any, Worker()), agreed))
        await killing.wait(names)
        searching.cancel()
        await asyncio.gather(searching, return_exceptions=True)
        server.should_exit = True
        await serving

    with caplog.at_level(logging.WARNING, "tacit"):
        begun = time.monotonic()
        asyncio.run(work())
        assert time.monotonic() - begun < AMPLE_SECONDS
    assert names >= {"nodes", "notices", "schedule of series", "work", "files of runs"}
    logged = {
        cast(Any, record).fields["task"]
        for record in caplog.records
        if record.msg == "a task failed"
    }
    rendered = executor.metrics.render().decode()
    for name in names:
        assert executor.tasks.health[name].failures >= 1
        assert name in logged
        assert f'tacit_task_failures_total{{task="{name}"}} 0.0' not in rendered
        assert f'tacit_task_failures_total{{task="{name}"}}' in rendered
