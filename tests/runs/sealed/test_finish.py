"""A search and its finish, simulated: what is proved, when it turns, and who gets one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tacit.engine.derived import KnownTime
from tacit.errors import ParameterError, PeerTimeoutError
from tacit.problems import (
    Problem,
    generate_assignment,
    generate_capacitated,
    generate_delays,
    generate_named,
    generate_tour,
)
from tacit.runs import Limits, Result, StopReason, drive, sealed_settings, solve, with_disclosures
from tacit.runs.sealed.driver import SealedDriver
from tacit.runs.sealed.finishing import ENDING
from tacit.runs.sealed.pace import OPENING_SECONDS, SETTLING
from tacit.runs.sealed.searching import SealedPlan, SimulatedSealedSearch
from tacit.search.moves import ExactParameters, SealedParameters
from tests.runs.clock import DrivenClock
from tests.runs.flat import solve_with

PHASES = 12


def solved(problem: Problem, best: str = "value", **changes: object) -> Result:
    settings = {"block": 5, "finish": PHASES, **changes}
    return solve_with(
        problem, disclose="sealed", best=best, engine="simulated", changes=settings, generations=30
    )


@pytest.mark.parametrize(
    "problem",
    [
        generate_assignment(1, rows=15),
        generate_capacitated(3, rows=10, columns=4),
        generate_delays(4, flights=8, slots=12),
    ],
    ids=lambda problem: problem.name,
)
def test_what_the_search_found_is_brought_to_the_optimum_and_proved(problem: Problem) -> None:
    found = solved(problem)
    assert found.proved is True
    assert found.value == [found.optimum]
    assert found.notes == []
    assert found.best_known.disclosed == found.value
    assert (found.generations, found.parameters["turns"]) == (30 + PHASES, [30])
    assert len(found.history.generation) == 30 + PHASES


@pytest.mark.parametrize("columns", [1, 9])
def test_a_single_row_is_proved_within_its_deadline(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one column there is nothing to search, so a generation costs nothing by the model."""
    clock, advance = DrivenClock(monkeypatch), SimulatedSealedSearch.advance

    def take_time(
        search: SimulatedSealedSearch,
        count: int,
        horizon: int,
        /,
        *,
        until: float | None,
        turn: int | None = None,
    ) -> list[bool]:
        clock.advance(0.002 * count)
        return advance(search, count, horizon, until=until, turn=turn)

    monkeypatch.setattr(SimulatedSealedSearch, "advance", take_time)
    problem = generate_assignment(1, rows=1, columns=columns)
    found = solve(problem, engine="simulated", limits=Limits(deadline=4.0))
    assert found.proved is True
    assert found.value == [found.optimum]
    assert clock.since <= 4.0


def test_a_run_that_nobody_limits_ends_with_its_proof() -> None:
    delays = generate_delays(4, flights=8, slots=12)
    found = solve(delays, engine="simulated")
    assert (found.proved, found.parameters["turns"]) == (True, [500])
    assert found.value == [found.optimum]
    assert solve(delays, engine="simulated", limits=Limits(generations=5)).proved is None


def test_what_is_not_proved_is_said_and_no_worse_than_what_the_search_found() -> None:
    problem = generate_assignment(1, rows=80)
    found, before = (solved(problem, finish=finish) for finish in (1, 0))
    assert found.proved is False
    assert found.notes == [
        "the plan is not proved to be the optimum: its finish ended before; take a longer finish, "
        "and more time"
    ]
    assert before.proved is None
    assert found.value is not None
    assert before.value is not None
    assert found.value[0] >= before.value[0]


def test_what_has_no_finish() -> None:
    with pytest.raises(ParameterError, match="set finish to 0: the exact solver is for assignm"):
        solved(generate_tour(1, cities=6))
    with pytest.raises(ParameterError, match="tells nothing of improvements"):
        solved(generate_assignment(1, rows=5), best="improvement")
    with pytest.raises(ParameterError, match="finish is 1001; give 0 to 1000"):
        solved(generate_assignment(1, rows=5), finish=1001)


class _Paced:
    """A search of known pace, whose phases take longer by a known factor."""

    seed, opened, finished = 0, False, False
    searches: Sequence[int] = (0,)

    def __init__(
        self, clock: DrivenClock, *, generation: float, phase: float, turn: int | None = None
    ) -> None:
        self.generation, self.turn = turn or 0, turn
        self.turned_at = 0.0
        self._clock, self._pace = clock, (generation, phase)

    def advance(
        self, count: int, horizon: int, /, *, until: float | None, turn: int | None = None
    ) -> list[bool]:
        assert until is not None
        if turn is not None and self.turn is None:
            self.turn, self.turned_at = turn, self._clock.since
        steps = float(count + SETTLING)
        if turn is not None:
            steps = count + ENDING + (2 if turn == self.generation else 0)
        self._clock.now += steps * self._pace[turn is not None]
        if self._clock.now > until:
            self._clock.now = until
            raise PeerTimeoutError("the nodes", "were not done in time")
        assert horizon >= self.generation + count
        self.generation += count
        return []

    def open(self, search: int | None = None, /, *, until: float | None) -> SealedPlan:
        assert search in (None, *self.searches)
        assert until is not None
        assert self._clock.now <= until - OPENING_SECONDS
        return SealedPlan([], None, self.generation, "feasible")

    @property
    def phases(self) -> int:
        """How many are done."""
        return 0 if self.turn is None else self.generation - self.turn


def driven(*searches: _Paced, deadline: float) -> tuple[StopReason, list[str]]:
    """Why the last of these searches stopped, and what was noted of all."""
    problem = generate_assignment(1, rows=100)
    settings = SealedParameters(block=16, levels=2, finish=PHASES)
    weightings = [(1,)] * len(searches)
    for number, search in enumerate(searches):
        search.searches = (number,)
    driver = SealedDriver(problem, searches, Limits(deadline=deadline), settings, weightings)
    reason = drive(driver)
    return reason, [*driver.notes, *driver._not_proved()]


@pytest.mark.parametrize("slower", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("off", [0.8, 1.0, 1.2])
def test_it_turns_when_the_time_left_is_what_the_finish_needs(
    slower: float, off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the machine; the model may be off by a fifth."""
    generation, phase = 0.026 * slower, 0.281 * slower * off
    search = _Paced(DrivenClock(monkeypatch), generation=generation, phase=phase)
    reason, _ = driven(search, deadline=36)
    assert reason is StopReason.GENERATIONS
    assert search.phases == PHASES
    assert 36 - search.turned_at <= 1.5 * (PHASES + 4) * phase / off + 1


def test_a_finish_that_does_not_fit_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    search = _Paced(DrivenClock(monkeypatch), generation=0.05, phase=1.0)
    reason, notes = driven(search, deadline=12)
    assert reason is StopReason.DEADLINE
    assert 1 <= search.phases < PHASES
    assert search.turned_at >= 12 * 0.3 - 1
    assert "its finish ended before" in notes[0]


def test_a_finish_of_hardly_any_phases_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    search = _Paced(DrivenClock(monkeypatch), generation=0.2, phase=2.2)
    reason, notes = driven(search, deadline=8)
    assert (reason, search.turn) == (StopReason.DEADLINE, None)
    assert search.generation >= 25
    assert "no time was left for that" in notes[0]


def test_a_search_that_has_turned_goes_on_with_its_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    search = _Paced(DrivenClock(monkeypatch), generation=0.02, phase=0.3, turn=7)
    assert driven(search, deadline=30)[0] is StopReason.GENERATIONS
    assert search.generation == 7 + PHASES


def test_what_was_begun_before_the_turn_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever takes a search up, with time for its finish alone, may find generations begun."""

    class Begun(_Paced):
        begun = 40

        def advance(
            self, count: int, horizon: int, /, *, until: float | None, turn: int | None = None
        ) -> list[bool]:
            if self.begun:
                count, turn, self.begun = self.begun, None, 0
            horizon = max(horizon, self.generation + count)
            return super().advance(count, horizon, until=until, turn=turn)

    search = Begun(DrivenClock(monkeypatch), generation=0.02, phase=0.28)
    limits, problem = Limits(deadline=30, generations=0), generate_assignment(1, rows=100)
    settings = SealedParameters(block=16, levels=2, finish=PHASES)
    driver = SealedDriver(problem, [search], limits, settings, [(1,)])
    assert drive(driver) is StopReason.GENERATIONS
    assert (search.turn, search.phases) == (40, PHASES)


def test_each_of_several_searches_has_its_finish(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = DrivenClock(monkeypatch)
    searches = [_Paced(clock, generation=0.02, phase=0.2) for _ in range(3)]
    driven(*searches, deadline=30)
    assert [search.phases for search in searches] == [PHASES] * 3
    assert all(search.turn for search in searches)


def chosen(problem: Problem, deadline: float | None, **changes: object) -> int:
    settings = sealed_settings(problem, changes, time=KnownTime(deadline=deadline))
    assert isinstance(settings, SealedParameters)
    return settings.finish


def test_a_search_gets_the_finish_that_fits_its_time() -> None:
    problem = generate_assignment(1, rows=100)
    assert [chosen(problem, each) for each in (2, 5, 8, 20, None)] == [0, 7, 12, 12, 0]
    small = generate_assignment(1, rows=30)
    assert [chosen(small, each) for each in (1, 2, 5)] == [0, 3, 6]
    assert chosen(problem, 20, method="search") == 0
    assert chosen(problem, 20, finish=7) == 7
    assert chosen(generate_tour(1, cities=9), 100) == 0
    assert chosen(generate_assignment(1, rows=2, columns=6000), 1e6) == 0
    assert isinstance(
        sealed_settings(problem, {"method": "exact"}, time=KnownTime(deadline=9)), ExactParameters
    )


def test_where_few_pairs_are_allowed_the_finish_has_most_of_the_time() -> None:
    few = generate_named("sparse", 1, rows=100)
    assert [chosen(few, deadline) for deadline in (2, 5, 60)] == [0, 10, 22]


def test_a_plan_is_feasible_however_early_the_exact_solver_ends() -> None:
    few = generate_named("sparse", 3, rows=12)
    exact = ExactParameters(phases=1)
    found = solve(few, disclose="sealed", settings=exact, engine="simulated", deadline=9.0)
    assert not found.proved
    assert few.fault(np.array(found.plan, dtype=np.int32)[None]) is None
    poor = SealedParameters(block=2, finish=1)
    limits = Limits(generations=1)
    found = solve(few, disclose="sealed", settings=poor, engine="simulated", limits=limits)
    assert few.fault(np.array(found.plan, dtype=np.int32)[None]) is None


def test_improvements_and_few_agreed_steps_leave_none() -> None:
    problem = generate_assignment(1, rows=30)

    def finish(known: KnownTime, best: str = "nothing") -> int:
        told = with_disclosures(problem, "sealed", best)
        settings = sealed_settings(told, {}, time=known)
        assert isinstance(settings, SealedParameters)
        return settings.finish

    assert finish(KnownTime(deadline=20, steps=1000)) == 6
    assert finish(KnownTime(deadline=20, steps=6)) == 4
    assert finish(KnownTime(deadline=20, steps=2)) == 0
    assert finish(KnownTime(deadline=20), best="improvement") == 0
    assert finish(KnownTime(deadline=20, nodes=4, delay=0.01)) == 0
