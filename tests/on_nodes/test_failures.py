"""Real nodes that are killed, hang or lose links, while evaluations and a deadline run."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tacit.coordinator.evaluations import Evaluations
from tacit.local.cluster import LocalCluster
from tacit.local.node_processes import NodeProcess
from tacit.problems import generate_assignment
from tacit.records.events import Connected, EvaluationBegun, NodeLost, NumberAdopted, RelayBegun
from tacit.records.messages import Computed
from tacit.records.requests import Attempt
from tacit.runs import EngineChoice, Limits, Progress, Result, solve
from tacit.runs.driver import SearchDriver, drive
from tacit.runs.limits import StopReason
from tacit.runs.result import Outcome
from tacit.runs.settings import as_settings
from tacit.runs.solve import local_driver, with_disclosures
from tacit.search import preset_named
from tests.on_nodes.agreed_cluster import (
    SOON_THREE,
    AgreedCluster,
    expected,
    outcomes,
    populations,
    problem,
    run,
)
from tests.on_nodes.altered_nodes import restart_dying
from tests.on_nodes.deadlines import AMPLE, LATE, raises_in_time
from tests.on_nodes.test_loss import Cable
from tests.support.cpu_waits import CpuWaits

FEW = 5
"""So many generations are over when something happens."""


def stop(cluster: LocalCluster, node: int) -> None:
    cluster.processes[node].send_signal(signal.SIGSTOP)


def go_on(cluster: LocalCluster, node: int) -> None:
    cluster.processes[node].send_signal(signal.SIGCONT)


@pytest.mark.parametrize("node", [0, 1, 2])
def test_a_stopped_node_is_named_by_the_deadline_and_welcome_back(
    own_cluster: LocalCluster, node: int
) -> None:
    agreed = AgreedCluster.draft(own_cluster)
    first, second, third = populations(3)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            stop(own_cluster, node)
            await raises_in_time(
                lambda until: evaluations.evaluate(second, until=until), f"node {node}", seconds=0.7
            )
            go_on(own_cluster, node)
            told = await evaluations.evaluate(third, until=time.monotonic() + 60)
            assert told.payload.labels == expected(agreed, third)

    run(evaluate())


def test_a_killed_node_comes_back_with_nothing_lost(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster, problem("top:3", "improvement"))
    plans = populations(4)

    async def evaluate() -> list[tuple[int, int | None]]:
        told = []
        async with agreed.ready() as (_, evaluations):
            for number, each in enumerate(plans):
                waiting = asyncio.ensure_future(
                    evaluations.evaluate(each, until=time.monotonic() + 60)
                )
                if number in (1, 2):  # in mid-evaluation
                    await asyncio.sleep(0.002 * number)
                    own_cluster.kill(number)
                    own_cluster.restart(number)
                result = await waiting
                assert result.payload.labels == expected(agreed, each)
                told.append((result.number, result.payload.best))
        return told

    best, improved = None, []
    for each in plans:
        now = int(agreed.problem.fitness(0, each).max())
        improved.append(best is None or now > best)
        best = now if best is None else max(best, now)
    assert run(evaluate()) == list(zip([1, 2, 3, 4], improved, strict=True))
    for node in range(3):
        numbers = {
            e.number for e in agreed.log(node) if isinstance(e, EvaluationBegun | NumberAdopted)
        }
        assert numbers == {1, 2, 3, 4}


def test_all_nodes_killed_at_once_lose_nothing(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster, problem("buckets:3", "improvement"))
    plans = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(plans[0], until=None)
            for node in range(3):
                own_cluster.kill(node)
            for node in range(3):
                own_cluster.restart(node)
            told = await evaluations.evaluate(plans[1], until=time.monotonic() + 60)
            assert told.number == 2
            assert told.payload.labels == expected(agreed, plans[1])

    run(evaluate())


def test_an_answer_that_got_out_before_a_kill_is_not_left_out(own_cluster: LocalCluster) -> None:
    """All nodes are killed between sending an improvement and keeping the best that it was of."""
    agreed = AgreedCluster.draft(own_cluster, problem("top:3", "improvement"))
    plans = populations(3)

    attempts = itertools.count(1)

    async def evaluate(number: int, parent: str) -> tuple[str, list[Any]]:
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            epoch = await coordinator.persist(coordinator.epoch, until=time.monotonic() + 60)
            request = agreed.request(
                plans[number - 1],
                epoch=epoch,
                number=number,
                attempt=next(attempts),
                parent_attempt=Attempt(parent),
            )
            told = await outcomes(coordinator.clients, lambda _: request)
            return Attempt.of(number, epoch, request.attempt), told

    async def attack() -> None:
        async with agreed.ready():
            pass
        first, told = await evaluate(1, "")
        assert all(isinstance(each, Computed) for each in told)
        for node in range(3):
            restart_dying(own_cluster, node, "keep best")
        await evaluate(2, first)
        for node in range(3):
            assert own_cluster.processes[node].wait(AMPLE) == -signal.SIGKILL
            own_cluster.kill(node)
            own_cluster.restart(node)
        _, told = await evaluate(3, first)
        assert all("evaluation 2 was begun, and left no best" in str(each) for each in told)
        second, told = await evaluate(2, first)
        assert all(isinstance(each, Computed) for each in told)
        _, told = await evaluate(3, second)
        assert all(isinstance(each, Computed) for each in told)

    run(attack())


def test_a_new_coordinator_goes_on_where_the_last_one_stopped(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster, problem("top:3", "improvement"))
    plans = sorted(populations(3), key=lambda each: -int(agreed.problem.fitness(0, each).max()))

    async def evaluate() -> list[tuple[int, int | None]]:
        told = []
        async with agreed.ready() as (_, evaluations):
            first = await evaluations.evaluate(plans[0], until=time.monotonic() + 60)
            await evaluations.settle(until=time.monotonic() + 60)
            told.append((first.number, first.payload.best))
        for each in plans[1:]:
            async with agreed.coordinator() as coordinator:
                await coordinator.start_agreement(agreed.signatures, within=60)
                evaluations = Evaluations(coordinator, 0)
                result = await evaluations.evaluate(each, until=time.monotonic() + 60)
                await evaluations.settle(until=time.monotonic() + 60)
                told.append((result.number, result.payload.best))
        return told

    assert run(evaluate()) == [(1, True), (2, False), (3, False)]


def test_after_a_restart_the_highest_counter_counts(own_cluster: LocalCluster) -> None:
    """Two nodes have begun an evaluation that the third never heard of."""
    agreed = AgreedCluster.draft(own_cluster)
    first, second = populations(2)

    async def attack() -> int:
        async with agreed.ready() as (coordinator, _):
            epoch = await coordinator.epoch()
            for client in coordinator.clients[:2]:
                await client.ask(agreed.request(first, epoch=epoch))
            async with asyncio.timeout(AMPLE):
                while not all(agreed.events(node, EvaluationBegun) for node in (0, 1)):
                    await asyncio.sleep(0.01)
            own_cluster.kill(2)
            own_cluster.restart(2)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=60)
            evaluations = Evaluations(coordinator, 0)
            told = await evaluations.evaluate(second, until=time.monotonic() + 60)
            return told.number

    assert run(attack()) == 2
    assert [e.number for e in agreed.events(2, NumberAdopted)] == [1]


def test_interleaved_evaluations_share_the_links(cluster: LocalCluster) -> None:
    agreeds = [
        AgreedCluster.draft(cluster, problem(each)) for each in ("order", "top:2", "above:50")
    ]

    async def evaluate(agreed: AgreedCluster) -> None:
        async with agreed.ready() as (_, evaluations):
            for plans in populations(5, size=40):
                told = await evaluations.evaluate(plans, until=time.monotonic() + 60)
                assert told.payload.labels == expected(agreed, plans)

    async def all_at_once() -> None:
        await asyncio.gather(*(evaluate(agreed) for agreed in agreeds))

    run(all_at_once())


# Whole runs with a deadline.


@contextmanager
def begun_run(cluster: LocalCluster) -> Iterator[SearchDriver]:
    """A run whose first generations are over, however long they took."""
    problem = with_disclosures(generate_assignment(1, rows=20), "top:15", None)
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    # What it takes to open a run is not counted: its clock starts when a test starts it.
    limits = Limits(deadline=AMPLE)
    with local_driver(problem, as_settings(None), limits, choice, print, seed=1) as driver:
        driver.start(until=time.monotonic() + AMPLE)
        while driver.progress().generation < FEW:
            assert driver.advance() is None
        yield driver


def late_run(
    cluster: LocalCluster, action: Callable[[], None], *, seconds: float
) -> tuple[StopReason, Outcome]:
    """A run that has so many seconds left when something happens; it has to answer then."""
    with CpuWaits() as waits:
        with begun_run(cluster) as driver:
            until = time.monotonic() + seconds
            action()
            reason = drive(driver, until=until)
            outcome = driver.outcome()
        ended = time.monotonic()
    assert ended - until - waits.between(until, ended) < LATE
    return reason, outcome


def test_a_run_answers_by_the_deadline_when_a_node_hangs(own_cluster: LocalCluster) -> None:
    reason, outcome = late_run(own_cluster, lambda: stop(own_cluster, 1), seconds=2.5)
    assert reason == "deadline"
    assert "node 1" in outcome.notes[0]
    assert outcome.generations >= FEW
    assert sorted(outcome.best_known.plans[0]) == list(range(20))


def test_a_run_answers_by_the_deadline_when_a_node_dies(own_cluster: LocalCluster) -> None:
    reason, outcome = late_run(own_cluster, lambda: own_cluster.kill(2), seconds=1.5)
    assert reason == "deadline"
    assert "node 2" in outcome.notes[0]


def disturbed_run(cluster: LocalCluster, action: Callable[[], None]) -> Result:
    """A run in which something happens beside it after a few generations."""
    acting = threading.Thread(target=action, daemon=True)

    def observe(view: Progress) -> None:
        if view.generation == FEW:
            acting.start()
        elif view.generation == 2 * FEW:
            acting.join()  # so that it has happened before the run is over

    return solve(
        generate_assignment(1, rows=20),
        disclose="top:15",
        deadline=AMPLE,
        limits=Limits(generations=40),
        seed=1,
        engine=EngineChoice(cluster=cluster.folder / "cluster.toml"),
        observe=observe,
    )


def test_a_run_goes_on_when_the_node_comes_back(own_cluster: LocalCluster) -> None:
    def away_for_a_while() -> None:
        own_cluster.kill(0)
        own_cluster.restart(0)

    result = disturbed_run(own_cluster, away_for_a_while)
    assert result.generations == 40
    assert result.notes == []


def test_a_run_goes_on_after_a_pause(own_cluster: LocalCluster) -> None:
    def pause() -> None:
        stop(own_cluster, 2)
        time.sleep(0.5)
        go_on(own_cluster, 2)

    result = disturbed_run(own_cluster, pause)
    assert result.generations == 40
    assert result.notes == []


def test_without_any_answer_the_error_names_the_node(own_cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(own_cluster)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            own_cluster.kill(1)
            await raises_in_time(
                lambda until: evaluations.evaluate(populations(1)[0], until=until),
                "node 1",
                seconds=0.5,
            )

    run(evaluate())


@pytest.mark.processes
def test_no_node_outlives_the_process_that_started_it() -> None:
    code = (
        "import os\n"
        "from tacit.local.cluster import LocalCluster\n"
        "with LocalCluster(chosen_populations=True) as cluster:\n"
        "    print(cluster.folder, *[p.pid for p in cluster.processes], flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    folder, *words = out.stdout.split()
    pids = [int(each) for each in words]
    assert len(pids) == 3
    deadline = time.monotonic() + AMPLE
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a node was left behind"
        time.sleep(0.05)
    assert not Path(folder).exists()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A zombie that nobody has reaped counts as ended.
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_node_that_dies_on_the_way_changes_nothing_in_the_result(
    own_cluster: LocalCluster,
) -> None:
    """Two objectives side by side, and a node dies twice while both are evaluated."""

    def die(view: Progress) -> None:
        if view.generation in (2, 5):
            node = view.generation % 3
            own_cluster.kill(node)
            own_cluster.restart(node)

    problem_of_two = generate_assignment(3, rows=8, objectives=2)
    parameters = preset_named("paper-moap").with_changes(population=16)
    real, twin = (
        solve(
            problem_of_two,
            disclose="order",
            best="improvement",
            settings=parameters,
            limits=Limits(generations=8),
            seed=2,
            engine=engine,
            observe=observe,
        )
        for engine, observe in (
            (EngineChoice(cluster=own_cluster.folder / "cluster.toml"), die),
            (EngineChoice(engine="simulated"), None),
        )
    )
    alike = structs.replace(real, engine="simulated", nodes=0)
    assert alike.to_json(timing=False) == twin.to_json(timing=False)


pytestmark = pytest.mark.processes
PATIENCE = 120.0


class OneCable(LocalCluster):
    """Four nodes, of which the last one's way to the first is a cable of its own."""

    def __init__(self) -> None:
        super().__init__(nodes=4, chosen_populations=True)
        held = socket.create_server(("127.0.0.1", 0))
        self.cable = Cable(held, self.listen[0])
        host, port = held.getsockname()
        self._way = f'"{host}:{port}"'

    def _launch(self, node: int) -> NodeProcess:
        path: Path = self.folder / f"node-{node}.toml"
        if node == 3:
            path.write_text(path.read_text().replace(f'"{self.listen[0]}"', self._way))
        return super()._launch(node)


@pytest.fixture
def wired() -> Iterator[OneCable]:
    cluster = OneCable()
    with cluster:
        yield cluster


def test_a_broken_link_goes_through_another_node_and_then_through_the_next(
    wired: OneCable,
) -> None:
    agreed = AgreedCluster.draft(wired, **SOON_THREE)
    plans = populations(3)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            for number, lost in enumerate((None, None, 1)):
                if number == 1:
                    wired.cable.close()
                elif number == 2:
                    wired.kill(1)
                told = await evaluations.evaluate(plans[number], until=time.monotonic() + PATIENCE)
                assert told.without == lost
                assert told.payload.labels == expected(agreed, plans[number])

    run(evaluate())
    for node, peer in ((0, 3), (3, 0)):
        ways = [e.what for e in agreed.node_log(node) if isinstance(e, Connected) and e.what]
        assert ways == ["through node 1", "through node 2"]
        assert {e.peer for e in agreed.node_log(node) if isinstance(e, Connected) and e.what} == {
            f"node {peer}"
        }
    (passed,) = [e for e in agreed.node_log(2) if isinstance(e, RelayBegun)]
    assert (passed.peer, passed.what) == ("node 3", "to node 0")
    # No node that lived was given up by anybody.
    assert {e.node for node in (0, 2, 3) for e in agreed.events(node, NodeLost)} == {1}
