"""How a sealed search is driven by the clock: deadlines are kept and used, at any pace."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tacit.errors import PeerTimeoutError
from tacit.problems import generate_assignment
from tacit.runs import Limits, StopReason, drive
from tacit.runs.sealed.driver import SealedDriver
from tacit.runs.sealed.pace import OPENING_SECONDS, SETTLING
from tacit.runs.sealed.searching import SealedPlan
from tacit.search.moves import SealedParameters
from tests.runs.clock import DrivenClock


class _Paced:
    """A search of known pace; what does not fit is given up when it should have been done."""

    seed, opened, finished = 0, False, False
    turn: int | None = None
    searches: Sequence[int] = (0,)

    def __init__(self, clock: DrivenClock, pace: Callable[[float], float]) -> None:
        self.generation, self._clock, self._pace = 0, clock, pace
        self.horizons: list[int] = []

    def advance(
        self, count: int, horizon: int, /, *, until: float | None, turn: int | None = None
    ) -> list[bool]:
        assert until is not None
        self.turn = turn
        for _ in range(count + SETTLING):
            self._clock.now += self._pace(self._clock.since)
        if self._clock.now > until:
            self._clock.now = until
            raise PeerTimeoutError("the nodes", "were not done in time")
        self.generation += count
        self.horizons.append(horizon)
        return []

    def open(self, search: int | None = None, /, *, until: float | None) -> SealedPlan:
        assert until is not None
        assert search in self.searches
        assert self._clock.now <= until - OPENING_SECONDS
        return SealedPlan([], None, self.generation)


def driven(*searches: _Paced, deadline: float) -> tuple[StopReason, list[str]]:
    """Why the last of these searches stopped, and what was noted of all."""
    problem = generate_assignment(1, rows=3)
    for number, each in enumerate(searches):
        each.searches = (number,)
    driver = SealedDriver(
        problem, searches, Limits(deadline=deadline), SealedParameters(), [(1,)] * len(searches)
    )
    reason = drive(driver)
    return reason, driver.outcome().notes


@pytest.mark.parametrize(
    ("pace", "deadline"),
    [(0.003, 10), (0.02, 10), (0.15, 10), (0.13, 135), (1.0, 60), (1.0, 10), (3.0, 60)],
)
def test_a_deadline_is_used_and_kept(
    pace: float, deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = _Paced(DrivenClock(monkeypatch), lambda _: pace)
    assert driven(search, deadline=deadline) == (StopReason.DEADLINE, [])
    assert search.generation >= 0.85 * (deadline - OPENING_SECONDS) / pace - 8
    # The temperature ends where it should: what was expected last is what came.
    assert abs(search.horizons[-1] - search.generation) <= 2


@pytest.mark.parametrize(("pace", "deadline"), [(1.0, 3), (1.0, 5), (3.0, 8), (3.0, 15)])
def test_slow_searches_do_what_fits(
    pace: float, deadline: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = _Paced(DrivenClock(monkeypatch), lambda _: pace)
    assert driven(search, deadline=deadline)[1] == []
    assert search.generation >= 1


def test_nodes_that_become_slow_lose_no_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    search = _Paced(DrivenClock(monkeypatch), lambda since: 1.0 if since < 18 else 3.0)
    assert driven(search, deadline=60)[1] == []
    assert search.generation >= 20
    assert abs(search.horizons[-1] - search.generation) <= 2


def test_a_plan_that_nothing_was_done_for_is_called_random(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = _Paced(DrivenClock(monkeypatch), lambda _: 9.0)
    _, notes = driven(search, deadline=3)
    assert search.generation == 0
    assert notes == ["no generation was finished in time; the plan is a random one"]


def test_how_many_plans_are_random_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = DrivenClock(monkeypatch)
    searches = [_Paced(clock, lambda _: 9.0) for _ in range(3)]
    _, notes = driven(*searches, deadline=3)
    assert notes == ["no generation was finished in time; 3 of 3 plans are random ones"]


@pytest.mark.parametrize("may_be_late", [True, False])
def test_a_plan_that_nobody_resumes_may_be_opened_late(
    may_be_late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that wait for a core may need more than the time that is set aside."""

    class SlowToOpen(_Paced):
        def open(self, search: int | None = None, /, *, until: float | None) -> SealedPlan:
            assert until is not None
            assert search in self.searches
            clock.advance(7.0)
            if clock.now > until:
                raise PeerTimeoutError("the nodes", "did not open the plan in time")
            return SealedPlan([], None, self.generation)

    clock = DrivenClock(monkeypatch)
    search = SlowToOpen(clock, lambda _: 0.1)
    problem, limits = generate_assignment(1, rows=3), Limits(deadline=5)
    driver = SealedDriver(problem, [search], limits, SealedParameters(), [(1,)])
    driver.may_be_late = may_be_late
    if may_be_late:
        assert drive(driver) is StopReason.DEADLINE
        assert driver.outcome().generations == search.generation > 30
    else:
        with pytest.raises(PeerTimeoutError):
            drive(driver)


def test_later_searches_know_the_pace_of_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = DrivenClock(monkeypatch)
    searches = [_Paced(clock, lambda _: 1.0) for _ in range(5)]
    driven(*searches, deadline=25.0)
    assert min(search.generation for search in searches) >= 1
    assert clock.since <= 25.0
