"""One malicious node of four makes every attack there is: no honest node and no plan is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tacit.agreement import read_agreement
from tacit.agreement.terms import Agreement
from tacit.coordinator.sealed_search import SealedSearch
from tacit.errors import PeerTimeoutError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.problems import Problem, generate_assignment, generate_tour
from tacit.records.ballots import Phase
from tacit.records.events import LogEvent, NodeLost
from tacit.records.log import verify_log
from tacit.records.messages import OpenEpoch
from tacit.runs import EngineChoice, Limits, Progress, Result, solve
from tacit.search import SearchParameters
from tacit.verify import check_evidence
from tests.on_nodes.agreed_cluster import SOON_THREE, outcomes, run
from tests.on_nodes.altered_nodes import FLOOD, FLOODED
from tests.on_nodes.attacking_node import ATTACK, make_attack, restart_attacking
from tests.on_nodes.ballots import cast
from tests.on_nodes.deadlines import AMPLE, LATE
from tests.on_nodes.sealed_agreed_cluster import PROBLEMS, begin, draft, sealed, twin
from tests.support.cpu_waits import CpuWaits

pytestmark = pytest.mark.processes
LIAR, HONEST = 3, range(3)
SMALL = SearchParameters(population=20, elites=3, tournament=3)
SEALED = generate_tour(2, cities=9, participants=2)
EVALUATING = generate_assignment(3, rows=8, participants=2)
STEPS = 24
"""So many are over soon, unless the liar holds them up."""
SOON, LONGER = 0.8, 2.0
"""Deadlines. The longer one leaves time to ask whether a node is gone."""
LONGEST = 20.0
"""No run on a busy machine gets more than four times as much."""
ALL = "TACIT_ATTACKS" in os.environ
"""Whether to make every attack, as `make attacks` does."""


@pytest.fixture
def attacked(four: LocalCluster) -> Iterator[LocalCluster]:
    """Four nodes, of which the last one makes the attack that a test names."""
    restart_attacking(four, LIAR)
    yield four
    four.kill(LIAR)
    for name in (ATTACK, FLOOD, FLOODED):
        (four.folder / name).unlink(missing_ok=True)


class Run:
    """A run under attack, with what its nodes have written."""

    def __init__(self, cluster: LocalCluster, result: Result, folder: str) -> None:
        self.result, self.agreement = result, _agreement(cluster, folder)
        places = [cluster.folder / f"node-{node}.data" / folder for node in range(4)]
        self.logs: list[list[LogEvent]] = [
            verify_log((place / "log.jsonl").read_bytes()) for place in places
        ]

    @property
    def lost(self) -> set[int]:
        """The nodes that honest ones have gone on without."""
        events = [event for node in HONEST for event in self.logs[node]]
        return {event.node for event in events if isinstance(event, NodeLost)}


def _agreement(cluster: LocalCluster, folder: str) -> Agreement:
    return read_agreement((cluster.folder / "node-0.data" / folder / "agreement.json").read_bytes())


def agreements(cluster: LocalCluster) -> set[str]:
    """The folders of all agreements that node 0 has."""
    found = (cluster.folder / "node-0.data").glob("*/agreement.json")
    return {each.parent.name for each in found}


def runs_under(
    cluster: LocalCluster,
    attack: Callable[[], None],
    *,
    deadline: float,
    shows: Callable[[Run], bool] = lambda _: True,
    **options: Any,
) -> list[Run]:
    """Runs at the same time, which an honest platform answers in time with a whole plan.

    The attack begins once each has found something that could be lost. Where a busy machine leaves
    no time for that, or for what each run is to show, the runs get more.
    """
    while True:
        try:
            found = _runs_under(cluster, attack, deadline=deadline, **options)
        except threading.BrokenBarrierError:
            found = []
        finally:
            make_attack(cluster, "")
        if found and (all(map(shows, found)) or deadline > LONGEST):
            return found
        assert deadline <= LONGEST
        deadline *= 4


def _runs_under(
    cluster: LocalCluster,
    attack: Callable[[], None],
    *,
    deadline: float,
    problems: tuple[Problem, ...] = (SEALED, EVALUATING),
    **choice: Any,
) -> list[Run]:
    before, ready = agreements(cluster), threading.Barrier(len(problems), attack)
    engine = EngineChoice(cluster=cluster.folder / "cluster.toml", **{**SOON_THREE, **choice})

    def run_one(problem: Problem) -> Result:
        waiting = [ready]

        def observe(_: Progress) -> None:
            if waiting:
                waiting.pop().wait()

        called = time.monotonic()
        result = solve(
            problem,
            disclose="sealed" if problem is SEALED else "top:3",
            limits=Limits(deadline=deadline, generations=STEPS),
            settings=None if problem is SEALED else SMALL,
            engine=engine,
            observe=observe,
        )
        if waiting:  # it has found nothing in time
            ready.abort()
            raise threading.BrokenBarrierError
        problem.check_plan(result.plan)
        assert result.timing is not None
        begins = called + result.timing.set_up_seconds
        waited = waits.between(begins, begins + result.timing.seconds)
        assert result.timing.seconds - deadline - waited < LATE
        return result

    with CpuWaits() as waits, ThreadPoolExecutor(len(problems)) as pool:
        results = [*pool.map(run_one, problems)]
    folders = sorted(
        agreements(cluster) - before, key=lambda each: _agreement(cluster, each).sealed
    )
    found = [
        Run(cluster, result, folder)
        for result, folder in zip(results, reversed(folders), strict=True)
    ]
    assert all(each.lost <= {LIAR} for each in found)
    return found


def some(attacks: list[str], count: int) -> list[str]:
    """A few of these; all with `make attacks`."""
    return attacks if ALL else attacks[:count]


def test_what_one_node_says_changes_no_run(attacked: LocalCluster) -> None:
    says = ["invents", "votes refuses", "votes twice", "votes otherwise", "votes far ahead"]
    for what in some(says, 3):
        # From the preparing on, and once more in the middle.
        make_attack(attacked, what)
        found = runs_under(attacked, partial(make_attack, attacked, what), deadline=AMPLE)
        for each in found:
            assert (each.result.generations, each.lost) == (STEPS, set()), what


def test_what_one_node_holds_up_ends_with_what_there_is(attacked: LocalCluster) -> None:
    holds_up = ["blames", "stalls", "accuses", "refuses epochs", "forgets", "ends late", "refuses"]
    for what in some(holds_up, 4):
        found = runs_under(attacked, partial(make_attack, attacked, what), deadline=SOON)
        for each in found:
            assert each.result.generations < STEPS, what
            assert each.lost == set(), what


@pytest.mark.parametrize(("on_loss", "deadline"), [("three", LONGER), ("wait", SOON)])
def test_one_node_that_refuses_costs_no_plan_and_is_named(
    attacked: LocalCluster, on_loss: str, deadline: float
) -> None:
    """With `three` the others look whether it is gone. It answers them, so it is not."""

    def notes(each: Run) -> list[str]:
        return [note for note in each.result.notes if "this node objects" in note]

    attack = partial(make_attack, attacked, "refuses steps")
    found = runs_under(
        attacked, attack, deadline=deadline, on_loss=on_loss, shows=lambda each: bool(notes(each))
    )
    for each in found:
        (note,) = notes(each)
        assert note.startswith("node 3: refuses")
        assert each.lost == set()


def test_a_node_that_falls_silent_is_gone_on_without(attacked: LocalCluster) -> None:
    def silence() -> None:
        attacked.processes[LIAR].send_signal(signal.SIGSTOP)

    found = runs_under(attacked, silence, deadline=AMPLE)
    attacked.processes[LIAR].send_signal(signal.SIGCONT)
    for each in found:
        assert (each.result.generations, each.lost) == (STEPS, {LIAR})


def test_a_node_that_falls_silent_for_the_opening_is_not_needed(attacked: LocalCluster) -> None:
    def silence_at_the_end(progress: Progress) -> None:
        if progress.generation == STEPS:
            attacked.processes[LIAR].send_signal(signal.SIGSTOP)

    before = agreements(attacked)
    engine = EngineChoice(cluster=attacked.folder / "cluster.toml", **SOON_THREE)
    result = solve(
        SEALED,
        disclose="sealed",
        limits=Limits(deadline=AMPLE, generations=STEPS),
        engine=engine,
        observe=silence_at_the_end,
    )
    attacked.processes[LIAR].send_signal(signal.SIGCONT)
    SEALED.check_plan(result.plan)
    (folder,) = agreements(attacked) - before
    assert (result.generations, Run(attacked, result, folder).lost) == (STEPS, set())


def test_a_flood_and_its_word_remove_nobody(attacked: LocalCluster) -> None:
    for each in runs_under(attacked, (attacked.folder / FLOOD).touch, deadline=AMPLE):
        assert (each.result.generations, each.lost) == (STEPS, set())


@pytest.mark.parametrize("what", ["tells commitments", "tells manifests"])
def test_a_node_that_tells_two_things_of_inputs_is_named(attacked: LocalCluster, what: str) -> None:
    make_attack(attacked, what)
    before = agreements(attacked)
    with pytest.raises(RefusedError, match="node 3 departed from the protocol") as named:
        runs_under(attacked, nothing, deadline=SOON, problems=(SEALED,))
    (folder,) = agreements(attacked) - before
    places = [attacked.folder / f"node-{node}.data" / folder for node in range(4)]
    logs = [verify_log((place / "log.jsonl").read_bytes()) for place in places]
    said = check_evidence(_agreement(attacked, folder), logs)
    assert "node 3 departed from the protocol" in said
    assert named.value.node == "the nodes"


def nothing() -> None:
    """Begin no attack."""


HOLDING_UP = ["silence", "refuses steps", "tells invents", "tells passes on", "blames", "stalls"]


def test_who_holds_up_the_preparing_is_waited_for(attacked: LocalCluster) -> None:
    for what in some(HOLDING_UP, 2):

        def honest_again() -> None:
            make_attack(attacked, "")
            attacked.processes[LIAR].send_signal(signal.SIGCONT)

        timer = threading.Timer(0.5, honest_again)

        def hold_up(line: str, what: str = what, timer: threading.Timer = timer) -> None:
            if "sealing" in line:
                make_attack(attacked, what)
                if what == "silence":
                    attacked.processes[LIAR].send_signal(signal.SIGSTOP)
                timer.start()

        before = agreements(attacked)
        result = solve(
            SEALED,
            disclose="sealed",
            limits=Limits(generations=2),
            engine=EngineChoice(cluster=attacked.folder / "cluster.toml", **SOON_THREE),
            announce=hold_up,
        )
        timer.join()
        (folder,) = agreements(attacked) - before
        assert Run(attacked, result, folder).lost == set()


@pytest.mark.parametrize("what", ["refuses epochs", "refuses", "invents"])
def test_a_sealed_run_is_resumed_and_opened_whatever_one_node_refuses(
    attacked: LocalCluster, what: str
) -> None:
    agreed = draft(attacked, sealed(PROBLEMS["balanced"]()), **SOON_THREE)

    async def resume() -> None:
        async with agreed.coordinator() as first:
            search = await begin(agreed, first)
            await search.advance(10, 10, until=None)
        make_attack(attacked, what)
        async with agreed.coordinator() as coordinator:
            await coordinator.start_agreement(agreed.signatures, within=AMPLE, resumes=True)
            again = SealedSearch(coordinator, 0)
            await again.start(until=time.monotonic() + 1.0)
            assert again.step == 10
            clear = twin(agreed, search.seed)
            clear.advance(10, horizon=10)
            assert (await again.open(until=time.monotonic() + AMPLE)).plan == clear.plan()

    run(resume())


def test_no_platform_removes_a_node_that_it_had_refuse(four: LocalCluster) -> None:
    """It asks an honest node alone for a vote. The others cannot tell that node from a liar."""
    agreed = draft(four, sealed(PROBLEMS["balanced"]()), **SOON_THREE)

    async def attack() -> None:
        async with agreed.coordinator() as coordinator:
            search = await begin(agreed, coordinator)
            await search.advance(2, 9, until=None)
            await cast(coordinator, 2, Phase.STATUS, ballot=1)
            with pytest.raises(PeerTimeoutError, match="node 2: refuses"):
                await search.advance(2, 9, until=time.monotonic() + LONGER)
            assert coordinator.loss.members == [*coordinator.clients]
            request = OpenEpoch(agreement=coordinator.hash, epoch=time.time_ns(), without=2)
            asked = [coordinator.clients[node] for node in (0, 1, 3)]
            for answer in await outcomes(asked, lambda _: request):
                assert isinstance(answer, RefusedError)
                assert "node 2 answers" in answer.reason
            # Nothing is lost by it: the plan is that of the steps before.
            clear = twin(agreed, search.seed)
            clear.advance(2, horizon=9)
            assert (await search.open(until=None)).plan == clear.plan()

    run(attack())
    assert not any(agreed.events(node, NodeLost) for node in range(4))
