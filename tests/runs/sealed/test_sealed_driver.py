"""How a sealed run is driven by the clock: deadlines are kept and used, at any pace."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from tacit.agreement import SealedRun
from tacit.errors import AbortError, PeerTimeoutError, RefusedError
from tacit.problems import Problem, generate_assignment, generate_tour
from tacit.records import RefusalKind, SealedPlan
from tacit.runs import Limits, StopReason, drive
from tacit.runs.pace import OPENING_SECONDS, SETTLING
from tacit.runs.sealed import SealedDriver
from tacit.search.moves import AssignmentParameters, TourParameters
from tests.runs.clock import DrivenClock

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
