"""One of four nodes is lost, cut off, or proven to cheat; the others go on without it."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import PeerTimeoutError, RefusedError
from tacit.identity.config import parse_address
from tacit.local.cluster import LocalCluster
from tacit.records.events import (
    BuiltOnThree,
    NodeLost,
    NodeNamed,
    NodeReturned,
    RequestFailed,
    Sent,
)
from tacit.records.ledger import Disclosed
from tacit.records.messages import OpenEpoch
from tacit.runs import EngineChoice, Limits, Progress, solve
from tacit.search import SearchParameters
from tacit.verify import check_evidence, describe_loss
from tacit.verify.disclosed import check_answers
from tacit.verify.sealed import check_generations_asked
from tests.on_nodes.agreed_cluster import (
    SOON_THREE,
    AgreedCluster,
    expected,
    populations,
    problem,
    run,
)
from tests.on_nodes.altered_nodes import restart_lying
from tests.on_nodes.deadlines import AMPLE, raises_in_time, takes_at_most
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, Twin, begin, draft, sealed, twin
from tests.support.mending import mend

pytestmark = pytest.mark.processes
FOUR = 4
COSTS = 2.5
"""Seconds of searching that the first kill may cost."""
LOSES = 1.8
"""After so long three go on without a killed node, if they do; on an idle machine."""
SMALL = SearchParameters(population=20, elites=3, tournament=3)


def phases(agreed: AgreedCluster, node: int) -> list[tuple[type, int]]:
    """When a node was lost and when it was back, by another's log."""
    events = [e for e in agreed.log(node) if isinstance(e, NodeLost | NodeReturned)]
    return [(type(event), event.node) for event in events]


@pytest.mark.parametrize("lost", [0, 2])
def test_three_go_on_without_a_killed_node_and_let_it_in_again(
    four: LocalCluster, lost: int
) -> None:
    agreed = AgreedCluster.draft(four, **SOON_THREE)
    plans = populations(4)
    others = [node for node in range(FOUR) if node != lost]

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            told = await evaluations.evaluate(plans[0], until=None)
            assert told.without is None
            four.kill(lost)
            with takes_at_most(COSTS):
                told = await evaluations.evaluate(plans[1], until=time.monotonic() + AMPLE)
            assert told.without == lost
            assert told.parts[lost] == []
            assert told.payload.labels == expected(agreed, plans[1])
            four.restart(lost)
            await back(coordinator)
            told = await evaluations.evaluate(plans[2], until=time.monotonic() + 60)
            assert told.without is None
            assert told.payload.labels == expected(agreed, plans[2])
            # It happens once: the next loss is waited for, as without the agreement's leave.
            four.kill(others[0])
            with pytest.raises(PeerTimeoutError, match=f"node {others[0]}"):
                await evaluations.evaluate(plans[3], until=time.monotonic() + LOSES)

    run(evaluate())
    for node in others[1:]:
        assert phases(agreed, node) == [(NodeLost, lost), (NodeReturned, lost)]


def test_a_node_that_is_back_within_the_grace_time_was_never_lost(four: LocalCluster) -> None:
    """Until then the error names it at a deadline, although the others were asked about it."""
    agreed = AgreedCluster.draft(four, on_loss="three")
    plans = populations(4)

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(plans[0], until=None)
            four.kill(3)
            waiting = asyncio.create_task(evaluations.evaluate(plans[1], until=None))
            async with asyncio.timeout(AMPLE):
                while coordinator.loss.without != 3:
                    await asyncio.sleep(0.01)
            assert "node 3: cannot be reached" in str(coordinator.blame())
            mend(four)
            told = await waiting
            assert told.without is None
            assert told.payload.labels == expected(agreed, plans[1])
            assert coordinator.loss.notes == []

    run(evaluate())
    assert [phases(agreed, node) for node in range(FOUR)] == [[]] * FOUR


def test_a_stopped_node_is_lost_too(four: LocalCluster) -> None:
    agreed = AgreedCluster.draft(four, problem("top:3", "improvement"), **SOON_THREE)
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            four.processes[1].send_signal(signal.SIGSTOP)
            told = await evaluations.evaluate(second, until=time.monotonic() + 60)
            assert told.without == 1
            assert told.payload.labels == expected(agreed, second)
            best = [int(agreed.problem.fitness(0, each).max()) for each in (first, second)]
            # The best so far was shared by four, and is compared by three.
            assert told.payload.best == (best[1] > best[0])

    run(evaluate())


async def back(coordinator: Coordinator) -> None:
    """Return once the platform reaches the lost node again."""
    async with asyncio.timeout(AMPLE):
        while not coordinator.loss.is_back:
            await asyncio.sleep(0.05)


def test_a_node_that_is_back_gets_its_share_of_the_best_so_far(four: LocalCluster) -> None:
    """Its bit is that of a run that nobody left, also from the state that three had computed."""
    agreed = AgreedCluster.draft(four, problem("top:3", "improvement"), **SOON_THREE)
    # Ascending, but for the last: so each evaluation depends on the one before.
    plans = sorted(populations(6), key=lambda each: agreed.problem.fitness(0, each).max())
    plans.append(plans.pop(0))
    best = [int(agreed.problem.fitness(0, each).max()) for each in plans]

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            for number, each in enumerate(plans):
                if number == 1:
                    four.kill(2)
                elif number == 3:
                    four.restart(2)
                    await back(coordinator)
                    # As after something that did not fit; nothing is signed all the same.
                    coordinator.naming.signed = True
                told = await evaluations.evaluate(each, until=time.monotonic() + 60)
                assert told.without == (2 if number in (1, 2) else None)
                assert told.unchecked == (number > 2)
                assert told.payload.best == (best[number] > max([-1, *best[:number]]))
            (note,) = coordinator.loss.notes
            assert note.endswith("nor is what was built on it since")

    run(evaluate())
    for node in range(FOUR):
        (built,) = agreed.events(node, BuiltOnThree)
        assert (built.attempt.number, built.parent_attempt.number) == (4, 3)


def test_without_leave_a_lost_node_is_waited_for(four: LocalCluster) -> None:
    agreed = AgreedCluster.draft(four)
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            four.kill(3)
            with pytest.raises(PeerTimeoutError, match="node 3"):
                await evaluations.evaluate(second, until=time.monotonic() + LOSES)

    run(evaluate())


@pytest.mark.parametrize(
    ("changes", "without", "match"),
    [
        ({"on_loss": "three"}, 2, "node 2 answers node"),
        ({"on_loss": "three"}, 7, "cannot go on without node 7"),
        ({}, 2, "was not agreed"),
    ],
)
def test_no_platform_removes_a_node_that_is_there(
    four: LocalCluster, changes: dict[str, Any], without: int, match: str
) -> None:
    agreed = AgreedCluster.draft(four, **changes)

    async def ask() -> None:
        async with agreed.ready() as (coordinator, _):
            request = OpenEpoch(agreement=coordinator.hash, epoch=time.time_ns(), without=without)
            for client in coordinator.clients:
                if client.number != without:
                    with pytest.raises(RefusedError, match=match):
                        await (await client.ask(request))

    run(ask())


def test_a_sealed_search_goes_on_and_opens_its_plan(four: LocalCluster) -> None:
    agreed = draft(four, sealed(PROBLEMS["balanced"]()), **SOON_THREE)

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            sealed_search = await begin(agreed, coordinator)
            await sealed_search.advance(3, 9, until=None)
            four.kill(1)
            await sealed_search.advance(3, 9, until=time.monotonic() + 60)
            await sealed_search.advance(3, 9, until=time.monotonic() + 60)
            opened = await sealed_search.open(until=time.monotonic() + 60)
            assert sorted(opened.plan) == list(range(7))
            assert opened.entry.parts[1] == []

    run(search())


def test_a_node_that_is_back_takes_part_in_a_sealed_search(four: LocalCluster) -> None:
    """The search is that of its twin in the clear; the logs tell what was not checked."""
    agreed = draft(four, sealed(PROBLEMS["balanced"]()), **SOON_THREE)

    async def search() -> tuple[list[int], Twin]:
        async with agreed.coordinator() as coordinator:
            sealed_search = await begin(agreed, coordinator)
            clear = twin(agreed, sealed_search.seed)
            await sealed_search.advance(3, 12, until=None)
            four.kill(1)
            by_three = await sealed_search.advance(3, 12, until=time.monotonic() + 60)
            assert (by_three.without, by_three.unchecked) == (1, False)
            four.restart(1)
            await back(coordinator)
            for _ in range(2):
                by_all = await sealed_search.advance(3, 12, until=time.monotonic() + 60)
                assert (by_all.without, by_all.unchecked) == (None, True)
            opened = await sealed_search.open(until=time.monotonic() + 60)
            assert opened.entry.unchecked
        return opened.plan, clear

    plan, clear = run(search())
    clear.advance(12, horizon=12)
    assert plan == clear.plan()
    for node in range(FOUR):
        (built,) = agreed.events(node, BuiltOnThree)
        assert (built.attempt.number, built.parent_attempt.number) == (9, 6)
    logs = [agreed.log(node) for node in range(FOUR)]
    assert check_generations_asked(logs) == 12
    assert describe_loss(logs).endswith("nor is what all four built on it since")


def test_a_result_says_from_when_on_three_computed(four: LocalCluster) -> None:
    made = problem("top:3", "nothing")
    lost: list[Progress] = []

    def lose(progress: Progress) -> None:
        if not lost:
            four.kill(2)
        lost.append(progress)

    choice = EngineChoice(cluster=four.folder / "cluster.toml", **SOON_THREE)
    limits = Limits(deadline=60, generations=20)
    result = solve(made, limits=limits, settings=SMALL, engine=choice, observe=lose)
    (note,) = [each for each in result.notes if "not checked" in each]
    assert note.startswith("node 2 was lost: computed by three, not checked, from ")


def test_a_sealed_search_is_taken_up_again_by_three(four: LocalCluster) -> None:
    """Whoever lost its node at the start asks those that are left what was begun."""
    agreed = draft(four, sealed(PROBLEMS["balanced"]()), **SOON_THREE)

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            await (await begin(agreed, coordinator)).advance(2, 9, until=None)
            four.kill(1)
            coordinator.end_epoch()
            again = SealedSearch(coordinator, 0)
            await again.start(until=time.monotonic() + 60)
            await again.advance(3, 9, until=time.monotonic() + 60)
            assert again.step == 5

    run(search())


class Cable:
    """A wire to one node that can be cut without anybody being told."""

    def __init__(self, here: socket.socket, target: str) -> None:
        self._here, self._there = here, parse_address(target)
        self._whole = threading.Event()
        self._whole.set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self._thread.start()
        self._ready.wait()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, sock=self._here)
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            other_reader, other_writer = await asyncio.open_connection(*self._there)
            writers.append(other_writer)
            await asyncio.gather(
                self._pass_on(reader, other_writer), self._pass_on(other_reader, writer)
            )
        except (OSError, asyncio.CancelledError):
            pass  # a connection that breaks, or the end of the test
        finally:
            for each in writers:
                each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                while not self._whole.is_set():
                    await asyncio.sleep(0.01)
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()


@pytest.fixture
def cabled() -> Iterator[tuple[LocalCluster, list[Cable]]]:
    # Held from the beginning, so that nobody else gets these ports meanwhile.
    ends = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    addresses = [f"127.0.0.1:{end.getsockname()[1]}" for end in ends]
    with LocalCluster(addresses=addresses, chosen_populations=True) as cluster:
        cables = [Cable(here, there) for here, there in zip(ends, cluster.listen, strict=True)]
        yield cluster, cables
    for cable in cables:
        cable.close()


def test_a_node_that_is_cut_off_is_named_and_welcome_back(
    cabled: tuple[LocalCluster, list[Cable]],
) -> None:
    cluster, cables = cabled
    agreed = AgreedCluster.draft(cluster)
    first, second, third = populations(3)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            # Node 0 is dialled by everybody, so all its connections run through its cable.
            cables[0].cut()
            await raises_in_time(
                lambda until: evaluations.evaluate(second, until=until), "node 0", seconds=1.0
            )
            cables[0].mend()
            told = await evaluations.evaluate(third, until=time.monotonic() + 60)
            expected = agreed.problem.objectives[0].disclosure.disclose(
                agreed.problem.fitness(0, third)
            )
            assert told.payload.labels == expected.tolist()

    run(evaluate())


@pytest.fixture
def lied_to(four: LocalCluster) -> Iterator[LocalCluster]:
    """Four nodes, of which node 0 is honest again afterwards."""
    yield four
    four.kill(0)


def test_a_node_that_is_proven_to_cheat_is_gone_on_without(lied_to: LocalCluster) -> None:
    """No leave to lose a node is needed, and no grace: the proof is enough."""
    agreed = AgreedCluster.draft(lied_to, problem("top:3", "improvement"))
    plans = populations(3)
    ledger: list[Disclosed] = []

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            ledger.append((await evaluations.evaluate(plans[0], until=None)).entry(0))
            await evaluations.settle(until=None)
            restart_lying(lied_to, 0, "pieces", 3)
            for each in plans[1:]:
                told = await evaluations.evaluate(each, until=time.monotonic() + AMPLE)
                assert told.without == 0
                assert told.payload.labels == expected(agreed, each)
                ledger.append(told.entry(0))
            await evaluations.settle(until=None)
            (note,) = coordinator.loss.notes
            assert note.startswith("computed by three since node 0 was proven to cheat, from ")
            # It is never let in again, by nobody.
            request = OpenEpoch(agreement=coordinator.hash, epoch=time.time_ns())
            for client in coordinator.clients[1:]:
                with pytest.raises(RefusedError, match="node 0 is proven to have cheated"):
                    await (await client.ask(request))
        async with agreed.coordinator() as again:
            await again.start_agreement(agreed.signatures, within=60)
            await again.epoch()
            assert again.loss.without == 0

    run(evaluate())
    logs = [agreed.log(node) for node in range(4)]
    assert [[e.node for e in log if isinstance(e, NodeNamed)] for log in logs] == [
        [],
        [0],
        [0],
        [0],
    ]
    assert check_evidence(agreed.agreement, logs).startswith("node 0 departed from the protocol")
    assert check_answers(agreed.agreement, logs, ledger).counts == (3, 0)
    # Nor does it discredit what was disclosed before if it deletes its lines of it.
    logs[0] = [event for event in logs[0] if not isinstance(event, Sent)]
    assert check_answers(agreed.agreement, logs, ledger).counts == (2, 1)
    assert describe_loss(logs) == "computed by three since node 0 was proven to cheat"


def test_a_sealed_search_goes_on_without_a_node_that_cheats(lied_to: LocalCluster) -> None:
    agreed = draft(lied_to, sealed(PROBLEMS["balanced"]()))

    async def search() -> None:
        async with agreed.coordinator() as coordinator:
            on_nodes = await begin(agreed, coordinator)
            clear = twin(agreed, on_nodes.seed)
            await on_nodes.advance(4, 8, until=None)
            restart_lying(lied_to, 0, "pieces", 3)
            await on_nodes.advance(4, 8, until=time.monotonic() + AMPLE)
            assert coordinator.loss.without == 0
            clear.advance(8, horizon=8)
            opened = await on_nodes.open(until=time.monotonic() + 60)
            assert opened.plan == clear.plan()
            assert opened.entry.parts[0] == []

    run(search())


def test_an_undecided_pair_is_waited_for(lied_to: LocalCluster) -> None:
    terms = {"on_loss": "three", "grace_seconds": AMPLE}  # not lost while it starts again
    agreed = AgreedCluster.draft(lied_to, problem("top:3", "nothing"), **terms)
    first, second = populations(2)

    async def evaluate() -> None:
        async with agreed.ready() as (coordinator, evaluations):
            await evaluations.evaluate(first, until=None)
            restart_lying(lied_to, 0, "hash 2", 3)
            asked = asyncio.create_task(evaluations.evaluate(second, until=None))
            async with asyncio.timeout(AMPLE):
                while coordinator.naming.suspects != {0, 2}:
                    await asyncio.sleep(0.02)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)
            with pytest.raises(PeerTimeoutError, match="departed from the protocol: their signed"):
                await evaluations.evaluate(second, until=time.monotonic() + 1)
            assert coordinator.loss.without is None
            assert coordinator.naming.suspects == {0, 2}

    run(evaluate())
    assert any(event.evidence for event in agreed.events(3, RequestFailed))
