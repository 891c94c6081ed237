"""A deadline is a promise: the result comes at most 100 ms late.

Two tests measure: one on the wall clock, less the time that the test waited for a core, one by the
processor time that a search has. All others have a clock that stands still unless they move it.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.disclosure import linear
from tacit.errors import PeerTimeoutError
from tacit.evaluators import SeparateObjectives
from tacit.problems import Assignment, Evaluation, Problem, generate_assignment, shipped_problem
from tacit.runs import EvaluatingDriver, Limits, Progress, StopReason, drive, simulated_evaluator
from tacit.search import SearchParameters
from tacit.search.evolution import warm_up
from tests.runs.clock import DrivenClock, count_processor_time, leave_earlier_objects_out
from tests.support.cpu_waits import CpuWaits
from tests.support.simulated import solve

LATE = 0.1
KINDS = ("assignment", "tour", "two objectives")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> DrivenClock:
    return DrivenClock(monkeypatch)


def warmed(kind: str) -> Problem:
    """A problem of a kind whose search is loaded and compiled."""
    problem: Problem = (
        shipped_problem("kroD100")
        if kind == "tour"
        else generate_assignment(1, objectives=2 if kind == "two objectives" else 1)
    )
    solve(problem, disclose="top:15", limits=Limits(generations=1))
    leave_earlier_objects_out()
    return problem


@pytest.mark.parametrize("kind", KINDS)
def test_the_result_comes_in_time(kind: str) -> None:
    problem = warmed(kind)
    with CpuWaits() as waits:
        started = time.monotonic()
        result = solve(problem, disclose="top:15", deadline=0.3)
        ended = time.monotonic()
    assert result.timing is not None
    due = started + result.timing.set_up_seconds + 0.3
    assert result.stopped == "deadline"
    assert ended - due - waits.between(due, ended) < LATE
    assert result.timing.seconds - 0.3 - waits.between(due, ended) < LATE


@pytest.mark.parametrize("kind", KINDS)
def test_the_time_until_the_deadline_is_used(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = warmed(kind)
    count_processor_time(monkeypatch)
    result = solve(problem, disclose="top:15", deadline=0.5)
    assert result.timing is not None
    assert result.stopped == "deadline"
    assert result.timing.seconds < 0.5 + LATE
    assert result.generations > 3


def test_a_deadline_shorter_than_one_generation_still_gives_a_plan(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve(small_assignment, settings=small_search, deadline=1e-9)
    assert (result.stopped, result.generations, result.evaluations) == ("deadline", 0, 1)
    small_assignment.check_plan(result.plan)


class SlowEvaluator(SeparateObjectives):
    """Takes its time, and remembers what it was told of the deadline."""

    def __init__(self, inner: SeparateObjectives, clock: DrivenClock, seconds: float) -> None:
        super().__init__(inner.objectives)
        self._clock, self._seconds = clock, seconds
        self.until: list[float | None] = []

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        self.until.append(until)
        self._clock.advance(self._seconds)
        return super().evaluate(candidates, until=until)


def slow_run(
    problem: Problem,
    parameters: SearchParameters,
    clock: DrivenClock,
    *,
    seconds: float,
    deadline: float | None,
) -> tuple[EvaluatingDriver, SlowEvaluator]:
    warm_up(problem, parameters)
    evaluator = SlowEvaluator(simulated_evaluator(problem, linear), clock, seconds)
    limits = Limits(deadline=deadline, generations=3 if deadline is None else None)
    return EvaluatingDriver(problem, parameters, evaluator, seed=1, limits=limits), evaluator


def test_an_evaluation_that_is_not_expected_to_fit_is_not_started(
    small_assignment: Assignment, small_search: SearchParameters, clock: DrivenClock
) -> None:
    run, evaluator = slow_run(small_assignment, small_search, clock, seconds=0.15, deadline=0.5)
    assert drive(run) is StopReason.DEADLINE
    # The third ends at 0.45; a fourth would end at 0.6.
    assert len(evaluator.until) == 3
    assert clock.since == pytest.approx(0.45)


def test_a_generation_that_did_not_fit_is_nobodys_fault(
    small_assignment: Assignment, small_search: SearchParameters, clock: DrivenClock
) -> None:
    """A run that ends at its deadline is a success, whatever was under way then."""

    class Late(SlowEvaluator):
        peer = "the nodes"

        def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
            if len(self.until) == 2 and until is not None:
                clock.now = until
                raise PeerTimeoutError(self.peer, "did not finish in time")
            return super().evaluate(candidates, until=until)

    warm_up(small_assignment, small_search)
    for peer, notes in (("the nodes", []), ("node 1", ["node 1: did not finish in time"])):
        evaluator = Late(simulated_evaluator(small_assignment, linear), clock, 0.1)
        evaluator.peer = peer
        run = EvaluatingDriver(
            small_assignment, small_search, evaluator, seed=1, limits=Limits(deadline=0.5)
        )
        assert drive(run) is StopReason.DEADLINE
        assert run.notes == notes


def test_evaluators_are_told_the_instant_of_the_deadline(
    small_assignment: Assignment, small_search: SearchParameters, clock: DrivenClock
) -> None:
    run, evaluator = slow_run(small_assignment, small_search, clock, seconds=0.01, deadline=0.2)
    until = clock.now + 0.1
    drive(run, until=until)
    assert set(evaluator.until) == {until}
    run, evaluator = slow_run(small_assignment, small_search, clock, seconds=0.0, deadline=None)
    drive(run)
    assert evaluator.until == [None] * 4


def test_the_deadline_counts_from_the_start_with_the_first_generation_in_it(
    small_assignment: Assignment, small_search: SearchParameters, clock: DrivenClock
) -> None:
    run, evaluator = slow_run(small_assignment, small_search, clock, seconds=0.0, deadline=0.2)
    # A deadline that lies in the past leaves no time for more than the one evaluation.
    assert drive(run, until=clock.now - 0.8) is StopReason.DEADLINE
    assert len(evaluator.until) == 1


def test_slow_observers_count_too(
    small_assignment: Assignment, small_search: SearchParameters, clock: DrivenClock
) -> None:
    def dawdle(view: Progress) -> None:
        clock.advance(0.1)

    result = solve(small_assignment, settings=small_search, deadline=0.35, observe=dawdle)
    assert result.stopped == "deadline"
    # Three views end at 0.3; a fourth would end at 0.4.
    assert result.generations == 2
    assert clock.since == pytest.approx(0.3)


@pytest.mark.parametrize("may_be_late", [True, False])
def test_a_first_generation_may_be_late_where_nobody_resumes_the_run(
    small_assignment: Assignment,
    small_search: SearchParameters,
    clock: DrivenClock,
    may_be_late: bool,
) -> None:
    """Without it there is no plan at all; nodes that wait for a core may need more time."""

    class Slow(SlowEvaluator):
        def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
            evaluation = super().evaluate(candidates, until=until)
            if until is not None and clock.now > until:
                raise PeerTimeoutError("the nodes", "did not finish in time")
            return evaluation

    evaluator = Slow(simulated_evaluator(small_assignment, linear), clock, 7.0)
    limits = Limits(deadline=0.5)
    run = EvaluatingDriver(small_assignment, small_search, evaluator, seed=1, limits=limits)
    run.may_be_late = may_be_late
    if may_be_late:
        assert drive(run) is StopReason.DEADLINE
        assert (len(evaluator.until), len(run.plans()), run.notes) == (1, 1, [])
    else:
        with pytest.raises(PeerTimeoutError):
            drive(run)
