"""Sealed drivers: batches, interruptions and opened plans."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.agreement import SealedRun
from tacit.coordinator import SecureEngine
from tacit.derived import KnownTime, tour_length
from tacit.disclosure import BestMode, Exact
from tacit.errors import AbortError, ParameterError, PeerTimeoutError, RefusedError
from tacit.local.cluster import LocalCluster
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_named,
    generate_tour,
    load_problem,
    save_problem,
    shipped_problem,
)
from tacit.records import DisclosedPlan, RefusalKind, SealedPlan, load_ledger
from tacit.runs import (
    Checkpointing,
    EngineChoice,
    Limits,
    Progress,
    Result,
    StopReason,
    drive,
    sealed_settings,
)
from tacit.runs.pace import OPENING_SECONDS, SETTLING
from tacit.runs.result import Timing
from tacit.runs.sealed import SealedDriver
from tacit.search.moves import AssignmentParameters, TourParameters, fitted_parameters
from tests.runs.clock import DrivenClock
from tests.runs.flat import solve_with
from tests.support.cpu_waits import CpuWaits
from tests.support.simulated import solve

TOUR = generate_tour(1, cities=100)  # 4000 generations: here every deadline comes before
ASSIGNMENT = generate_assignment(1, rows=3)
LENGTH = AssignmentParameters(generations=20, iterations=120, least=40, seconds=60)
LENGTH_OF = {TourParameters: 4000, AssignmentParameters: LENGTH.steps}


class _Paced:
    """A search of known pace; what does not fit is given up when it should have been done."""

    seed, opened, finished = 0, False, False
    searches: Sequence[int] = (0,)

    def __init__(self, clock: DrivenClock, pace: Callable[[float], float]) -> None:
        self.step, self._clock, self._pace = 0, clock, pace
        self.horizons: list[int] = []
        self.ends: list[int] = []
        self.begun = clock.now

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        for _ in range(count + SETTLING):
            self._clock.now += self._pace(self._clock.since)
        if until is not None and self._clock.now > until:
            self._clock.now = until
            raise PeerTimeoutError("the nodes", "were not done in time")
        self.step += count
        self.horizons.append(horizon)
        self.ends.append(self.step)

    def open(self, search: int, /, *, until: float | None) -> SealedPlan:
        assert search in self.searches
        assert until is None or self._clock.now <= until - OPENING_SECONDS
        return SealedPlan([*range(100)], None, self.step)


class _Guarded(_Paced):
    """An assignment that opens no plan before its least steps or 80 % of its time."""

    def open(self, search: int, /, *, until: float | None) -> SealedPlan:
        assert search in self.searches
        assert until is None or until > self._clock.now
        since = self._clock.now - self.begun
        if self.step < LENGTH.least_steps and since < 0.8 * LENGTH.seconds:
            raise RefusedError("node 1", "no plan is opened yet", kind=RefusalKind.EARLY)
        return SealedPlan([0, 1, 2], None, self.step, "feasible")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> DrivenClock:
    driven = DrivenClock(monkeypatch)
    monkeypatch.setattr(time, "sleep", driven.advance)
    return driven


def driver_of(*searches: _Paced, deadline: float | None) -> SealedDriver:
    """A run of a tour, or of an assignment, one weighting for each search."""
    for number, each in enumerate(searches):
        each.searches = (number,)
    problem: Problem = TOUR
    parameters: TourParameters | AssignmentParameters = TourParameters()
    if isinstance(searches[0], _Guarded):
        problem, parameters = ASSIGNMENT, LENGTH
    run = SealedRun(problem, parameters, ((1,),) * len(searches), LENGTH_OF[type(parameters)])
    return SealedDriver(run, searches, Limits(deadline=deadline))


def driven(*searches: _Paced, deadline: float | None) -> tuple[StopReason, list[str]]:
    """Why the last of these searches stopped, and what was noted of all."""
    driver = driver_of(*searches, deadline=deadline)
    reason = drive(driver)
    return reason, driver.outcome().notes


@pytest.mark.parametrize(
    ("pace", "deadline"),
    [(0.003, 10), (0.02, 10), (0.15, 10), (0.13, 135), (1.0, 60), (1.0, 10), (3.0, 60)],
)
def test_a_deadline_is_used_and_kept(pace: float, deadline: float, clock: DrivenClock) -> None:
    search = _Paced(clock, lambda _: pace)
    assert driven(search, deadline=deadline) == (StopReason.DEADLINE, [])
    assert search.step >= 0.85 * (deadline - OPENING_SECONDS) / pace - 8
    # The temperature ends where it should: what was expected last is what came.
    assert abs(search.horizons[-1] - search.step) <= 2


@pytest.mark.parametrize(("pace", "deadline"), [(1.0, 3), (1.0, 5), (3.0, 8), (3.0, 15)])
def test_slow_searches_do_what_fits(pace: float, deadline: float, clock: DrivenClock) -> None:
    search = _Paced(clock, lambda _: pace)
    assert driven(search, deadline=deadline)[1] == []
    assert search.step >= 1


def test_nodes_that_become_slow_lose_no_batch(clock: DrivenClock) -> None:
    search = _Paced(clock, lambda since: 1.0 if since < 18 else 3.0)
    assert driven(search, deadline=60)[1] == []
    assert search.step >= 20
    assert abs(search.horizons[-1] - search.step) <= 2


def test_a_plan_that_nothing_was_done_for_is_said_to_be_the_first(clock: DrivenClock) -> None:
    search = _Paced(clock, lambda _: 9.0)
    _, notes = driven(search, deadline=3)
    assert search.step == 0
    assert notes == ["no step was finished in time; the plan is the one that it began with"]


def test_how_many_plans_are_first_ones_is_said_once(clock: DrivenClock) -> None:
    searches = [_Paced(clock, lambda _: 9.0) for _ in range(3)]
    _, notes = driven(*searches, deadline=3)
    assert notes == ["no step was finished in time; 3 of 3 plans are those that it began with"]


class _SlowToOpen(_Paced):
    def open(self, search: int, /, *, until: float | None) -> SealedPlan:
        assert until is not None
        assert search in self.searches
        self._clock.advance(7.0)
        if self._clock.now > until:
            raise PeerTimeoutError("the nodes", "did not open the plan in time")
        return SealedPlan([*range(100)], None, self.step)


@pytest.mark.parametrize("may_be_late", [True, False])
@pytest.mark.parametrize("pace", [0.1, 1000.0])
@pytest.mark.parametrize("until", [None, 20.0, -100.0])
def test_a_plan_that_nobody_resumes_may_be_opened_late(
    may_be_late: bool, pace: float, until: float | None, clock: DrivenClock
) -> None:
    """Nodes that wait for a core need more time to start, for a batch, and for the opening."""
    search = _SlowToOpen(clock, lambda _: pace)
    driver = driver_of(search, deadline=5)
    driver.may_be_late = may_be_late
    end = None if until is None else clock.now + until
    if may_be_late:
        assert drive(driver, until=end) is StopReason.DEADLINE
        assert driver.outcome().generations == search.step
        assert (search.step > 30) == (pace == 0.1 and until != -100.0)
    else:
        with pytest.raises(PeerTimeoutError):
            drive(driver, until=end)


def test_later_searches_know_the_pace_of_earlier_ones(clock: DrivenClock) -> None:
    searches = [_Paced(clock, lambda _: 1.0) for _ in range(5)]
    driven(*searches, deadline=25.0)
    assert min(search.step for search in searches) >= 1
    assert clock.since <= 25.0


def test_an_assignment_ends_when_its_steps_are_through(clock: DrivenClock) -> None:
    search = _Guarded(clock, lambda _: 0.01)
    reason, notes = driven(search, deadline=60)
    assert reason is StopReason.GENERATIONS
    assert search.step == LENGTH.steps
    assert clock.since < 5
    assert notes == [
        "the plan is not proved to be the optimum: all its iterations were made; allow more"
    ]
    # Iterations take another time than generations, so a batch has steps of one kind.
    assert LENGTH.generations in search.ends


@pytest.mark.parametrize("slower", [0.1, 1.0, 20.0])
def test_a_slow_assignment_uses_its_time_whatever_iterations_take(
    slower: float, clock: DrivenClock
) -> None:
    search = _Guarded(clock, lambda _: 0.2 if search.step < 20 else 0.2 * slower + 0.3)
    reason, notes = driven(search, deadline=60)
    assert clock.since <= 60
    if reason is StopReason.DEADLINE:
        assert "the deadline came before" in notes[0]
        assert search.step >= 0.85 * (20 + (60 - 4) / (0.2 * slower + 0.3)) - 6
    else:
        assert search.step == LENGTH.steps


@pytest.mark.parametrize("at", [0, 1, 13, 20, 50, 60, 130])
@pytest.mark.parametrize("deadline", [60.0, None])
def test_an_interrupted_assignment_goes_on_to_the_least_steps(
    at: int, deadline: float | None, clock: DrivenClock
) -> None:
    class Interrupted(_Guarded):
        interrupted = False

        def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
            if not self.interrupted and self.step + count >= at:
                self.interrupted = True
                raise KeyboardInterrupt
            super().advance(count, horizon, until=until)

    search = Interrupted(clock, lambda _: 0.01)
    reason, notes = driven(search, deadline=deadline)
    assert reason is StopReason.INTERRUPTED
    assert LENGTH.least_steps <= search.step <= max(LENGTH.least_steps, at)
    assert notes == ["the plan is not proved to be the optimum: the run was interrupted before"]


def test_an_interrupted_tour_is_opened_at_once(clock: DrivenClock) -> None:
    class Interrupted(_Paced):
        def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
            if self.step:
                raise KeyboardInterrupt
            super().advance(count, horizon, until=until)

    search = Interrupted(clock, lambda _: 0.01)
    assert driven(search, deadline=60) == (StopReason.INTERRUPTED, [])
    assert search.step == 1


def test_nodes_that_cannot_go_on_open_their_plan_when_it_is_due(clock: DrivenClock) -> None:
    class Fails(_Guarded):
        def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
            if self.step:
                raise AbortError("node 2", "sent something else than it should")
            super().advance(count, horizon, until=until)

    search = Fails(clock, lambda _: 0.01)
    reason, notes = driven(search, deadline=60)
    assert reason is StopReason.NODES
    assert 0.8 * 60 <= clock.since <= 60
    assert "node 2" in notes[0]
    assert "the nodes could not continue" in notes[1]


def test_a_group_that_began_before_its_time_waits_for_it(clock: DrivenClock) -> None:
    """Nodes count the time of a group from the beginning, whenever the one before ended."""

    first = _Guarded(clock, lambda _: 0.001)
    others = [_Guarded(clock, lambda _: 5.0) for _ in range(2)]
    reason, _ = driven(first, *others, deadline=60)
    assert reason is StopReason.DEADLINE
    assert first.step == LENGTH.steps
    assert all(each.step < LENGTH.least_steps for each in others)
    assert clock.since <= 60


def test_what_nodes_refuse_for_another_reason_is_not_asked_for_again(clock: DrivenClock) -> None:
    class Refuses(_Guarded):
        asked = 0

        def open(self, *_: object, **__: object) -> SealedPlan:
            self.asked += 1
            raise RefusedError("node 1", "the agreement has expired")

    search = Refuses(clock, lambda _: 0.01)
    with pytest.raises(RefusedError, match="expired"):
        driven(search, deadline=60)
    assert search.asked == 1


LATE = 0.1


def simulated(problem: Problem, **options: object) -> Result:
    return solve_with(problem, disclose="sealed", engine="simulated", **options)


@pytest.mark.slow
def test_a_sealed_tour_is_as_good_as_promised() -> None:
    tour = simulated(shipped_problem("kroD100"), generations=1500, seed=1)
    assert tour.percent_of_optimum is not None
    assert tour.percent_of_optimum < 104


@pytest.mark.parametrize("problem", [generate_assignment(1, rows=20), generate_tour(1, cities=20)])
def test_a_run_is_a_function_of_its_seed_and_its_schedule(problem: Problem) -> None:
    one, two = (simulated(problem, generations=12, seed=7) for _ in range(2))
    other = simulated(problem, generations=12, seed=8)
    assert one.to_json(timing=False) == two.to_json(timing=False)
    assert one.plan != other.plan
    assert sum(count for _, count, _ in one.parameters["schedule"][0]) == 12


@pytest.mark.parametrize("problem", [generate_assignment(1, rows=10), generate_tour(1, cities=9)])
def test_no_value_is_disclosed_unless_it_was_asked_for(problem: Problem) -> None:
    silent = simulated(problem, generations=12)
    assert silent.best_known.disclosed == [None]
    assert silent.history.disclosed_best == [[None]] * 12
    valued = simulated(problem, generations=12, best="value")
    assert valued.best_known.disclosed == valued.value
    assert valued.history.disclosed_best == [[None]] * 12
    assert silent.plan == valued.plan
    with pytest.raises(ParameterError, match="disclose the best value or nothing"):
        simulated(problem, best="improvement")


def test_a_tour_ends_with_its_public_length() -> None:
    for limits, stopped, generations in (
        ({"deadline": 3600.0}, "generations", 40 * 4),
        ({"deadline": 3600.0, "generations": 70}, "generations", 70),
        ({"deadline": 3600.0, "evaluations": 500}, "generations", 40 * 4),
        ({"generations": 200}, "generations", 200),
    ):
        found = simulated(generate_tour(3, cities=4), **limits)
        assert (found.stopped, found.generations) == (stopped, generations)
        assert found.proved is None


def test_several_objectives_give_a_front() -> None:
    problem = generate_assignment(1, rows=30, objectives=2)
    found = simulated(problem, generations=200, seed=1)
    assert found.best_known.actual is not None
    first, second = zip(*found.best_known.actual, strict=True)
    assert len(first) == 5
    assert first[0] == max(first)
    assert second[-1] == max(second)
    chosen = simulated(problem, generations=20, weightings=[(1, 2)])
    assert len(chosen.best_known.plans) == 1


def test_a_problem_file_may_ask_for_it(tmp_path: Path) -> None:
    problem = generate_assignment(1, rows=6, disclosures=[Exact()])
    save_problem(problem, tmp_path / "p.json")
    text = (tmp_path / "p.json").read_text()
    assert '"none"' in text
    text = text.replace('"none"', '"sealed"').replace('"best": "value",', "")
    (tmp_path / "p.json").write_text(text)
    loaded = load_problem(tmp_path / "p.json")
    assert loaded.objectives[0].best_mode is BestMode.NOTHING
    assert solve(loaded, limits=Limits(generations=5), engine="simulated").algorithm == "sealed"


def late_by(timing: Timing, begun: float, waits: CpuWaits, *, deadline: float) -> float:
    """By how much a run was late, without the time that it waited for a core.

    From when it began to open its plan: what it waits there it lacks at the deadline.
    """
    waited = waits.between(begun + deadline - OPENING_SECONDS, begun + timing.seconds)
    return timing.seconds - deadline - waited


@pytest.mark.processes
def test_a_tour_on_nodes_uses_its_time_and_is_not_late() -> None:
    seen: list[Progress] = []
    problem = generate_tour(1, cities=40, participants=2)
    with CpuWaits() as waits:
        called = time.monotonic()
        found = solve(problem, disclose="sealed", deadline=1.5, engine="nodes", observe=seen.append)
    assert found.timing is not None
    begun = called + found.timing.set_up_seconds
    assert late_by(found.timing, begun, waits, deadline=1.5) < LATE
    if found.stopped == "deadline":
        # No batch is begun that would not fit any more, and waiting for a core makes them longer.
        assert found.timing.seconds > 1.0 - waits.between(begun, begun + 1.5)
    else:
        assert found.generations == 40 * 40
    # Nodes that wait for a core do as much less.
    assert found.generations >= 4 * (1 - waits.between(begun, begun + 1.5) / 1.5)
    assert max([0, *(view.generation for view in seen)]) == found.generations
    problem.check_plan(found.plan)


@pytest.mark.processes
def test_an_assignment_on_nodes_ends_with_its_proof_long_before_its_deadline(
    tmp_path: Path,
) -> None:
    seen: list[Progress] = []
    problem = generate_assignment(1, rows=12, participants=2)
    found = solve_with(
        problem,
        disclose="sealed",
        deadline=300.0,
        engine=EngineChoice(ledger=tmp_path / "ledger.jsonl"),
        observe=seen.append,
    )
    assert (found.stopped, found.proved, found.percent_of_optimum) == ("generations", True, 100.0)
    assert found.notes == []
    assert found.timing is not None
    assert found.timing.seconds < 200
    assert [view.steps for view in seen] == [found.generations] * len(seen)
    last = seen[-1]
    assert (last.generation, last.iteration) == (found.generations, found.parameters["iterations"])
    (entry,) = load_ledger(tmp_path / "ledger.jsonl")
    assert entry.payload == DisclosedPlan(found.plan, None, "optimum")


def test_a_node_that_dies_does_not_cost_the_answer(own_cluster: LocalCluster) -> None:
    problem = generate_assignment(1, rows=12, participants=2)

    killed_at = 0

    def kill_one(view: Progress) -> None:
        nonlocal killed_at
        killed_at = killed_at or view.generation
        own_cluster.kill(2)

    with CpuWaits() as waits:
        called = time.monotonic()
        found = solve_with(
            problem,
            disclose="sealed",
            deadline=2.5,
            engine=EngineChoice(cluster=own_cluster.folder / "cluster.toml"),
            observe=kill_one,
        )
    assert found.timing is not None
    begun = called + found.timing.set_up_seconds
    assert late_by(found.timing, begun, waits, deadline=2.5) < LATE
    assert found.generations == killed_at > 0
    assert any("node 2" in note for note in found.notes)
    problem.check_plan(found.plan)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": 5}, "discloses no values"),
        ({"stall": 5}, "discloses no values"),
        ({"checkpointing": Checkpointing(file="x")}, "nodes keep its state"),
        ({"engine": EngineChoice(engine="simulated", reveal_best=True)}, "opens its best plan"),
        ({"weightings": [(1, 2)]}, "needs 1 factors"),
        ({"seed": -1}, "give 0 or more"),
        ({"preset": "paper-ap"}, "settings of its own"),
        ({"algorithm": "genetic"}, "settings of its own"),
        ({"parameters": TourParameters(parents=2)}, "settings of a tour"),
    ],
)
def test_what_a_sealed_search_cannot_do_is_refused(options: dict[str, object], words: str) -> None:
    given = {"engine": "simulated", **options}
    with pytest.raises(ParameterError, match=words):
        solve_with(generate_assignment(1, rows=5), disclose="sealed", **given)


def test_all_objectives_are_sealed_or_none() -> None:
    problem = generate_assignment(1, rows=5, objectives=2)
    with pytest.raises(ParameterError, match="is not sealed"):
        solve(problem, disclose={problem.objectives[0].name: "sealed"}, engine="simulated")
    public = replace(problem.objectives[1], confidential=False)
    with pytest.raises(ParameterError, match="is not sealed"):
        simulated(replace(problem, objectives=(problem.objectives[0], public)))


def test_settings_reach_the_search() -> None:
    found = simulated(
        generate_tour(1, cities=9), generations=5, parameters=TourParameters(children=9, cycles=3)
    )
    assert (found.parameters["children"], found.parameters["cycles"]) == (9, 3)


@pytest.mark.processes
@pytest.mark.parametrize("in_mid_batch", [True, False])
@pytest.mark.parametrize("limits", [Limits(), Limits(deadline=300.0)])
def test_a_run_is_interrupted_as_soon_as_its_plan_may_be_opened(
    in_mid_batch: bool, limits: Limits, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = generate_assignment(1, rows=30, participants=2)
    due, wait = [False], SecureEngine.wait

    def interrupt(_: Progress) -> None:
        if not in_mid_batch:
            raise KeyboardInterrupt
        due[0] = True

    def interrupted(engine: SecureEngine, future: Future[Any], /, *, until: float | None) -> Any:
        if due[0]:
            monkeypatch.setattr(SecureEngine, "wait", wait)
            future.cancel()
            raise KeyboardInterrupt
        return wait(engine, future, until=until)

    monkeypatch.setattr(SecureEngine, "wait", interrupted)
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    found = solve(problem, disclose="sealed", limits=limits, engine=choice, observe=interrupt)
    least = found.parameters["generations"] + found.parameters["least"]
    assert found.stopped == "interrupted"
    assert least <= found.generations <= found.parameters["generations"] + 42
    assert (found.proved, not found.notes) in {(True, True), (False, False)}
    problem.check_plan(found.plan)


@pytest.mark.processes
def test_one_step_is_enough_where_no_more_were_agreed_on(cluster: LocalCluster) -> None:
    problem = generate_named("sparse", 2, rows=12)
    choice = EngineChoice(cluster=cluster.folder / "cluster.toml")
    for steps in (0, 1, 2):
        limits = Limits(generations=steps)
        found = solve(problem, disclose="sealed", limits=limits, engine=choice)
        assert found.generations == max(1, steps)
        problem.check_plan(found.plan)


def fitted(problem: Problem, known: KnownTime, **changes: object) -> TourParameters:
    settings = sealed_settings(problem, changes, time=known)
    assert isinstance(settings, TourParameters)
    return settings


def test_more_time_gives_more_parents_and_as_many_meetings() -> None:
    tour = shipped_problem("kroA100")
    found = [fitted(tour, KnownTime(deadline=each)) for each in (2, 10, 30, 60, 300)]
    assert [each.parents for each in found] == [1, 1, 8, 8, 8]
    assert found[0] == fitted_parameters(tour)
    assert found[3].meet_every // found[2].meet_every == 2
    # A tour takes no more generations than these, whatever the time.
    assert found[4].meet_every == tour_length(tour) // 20
    assert [each.children for each in found] == [500, 500, 250, 250, 250]


def test_delays_and_few_agreed_steps_leave_fewer() -> None:
    tour = shipped_problem("kroA100")
    assert fitted(tour, KnownTime(deadline=135, delay=0.01)).parents == 8
    assert fitted(tour, KnownTime(deadline=60, delay=0.05)).parents == 1
    assert fitted(tour, KnownTime(deadline=60, steps=100)).parents == 1
    assert fitted(tour, KnownTime(deadline=None)) == fitted_parameters(tour)
    assert fitted(tour, KnownTime(deadline=60, nodes=4)).parents == 8


def test_what_is_named_is_kept() -> None:
    tour = shipped_problem("kroA100")
    known = KnownTime(deadline=60)
    assert fitted(tour, known, parents=3).parents == 3
    assert fitted(tour, known, parents=3).children == fitted_parameters(tour).children
    assert fitted(tour, known, children=77).parents == 1
    assert fitted(tour, known, heat_end=9).parents == 8
    assert fitted(tour, known, heat_end=9).heat_end == 9


def test_directed_and_large_tours_have_what_nodes_take() -> None:
    assert fitted(generate_tour(1, cities=30), KnownTime(deadline=60)).parents == 8
    assert fitted(generate_tour(1, cities=600), KnownTime(deadline=60)).parents == 1


def test_inversions_that_are_named_leave_no_exchanges_but_named_ones() -> None:
    directed = generate_tour(1, cities=30)
    for swaps, others, exchanges in ((60, {}, 0), (50, {}, 0), (50, {"exchange_percent": 20}, 20)):
        named = sealed_settings(directed, {"swap_percent": swaps, **others})
        assert isinstance(named, TourParameters)
        assert (named.swap_percent, named.exchange_percent) == (swaps, exchanges)
