"""A deadline is a promise: the result comes at most 100 ms late.

The tests allow 250 ms, since the machine that runs them may be busy with others.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.disclosure import linear
from tacit.engine.evaluators import SideBySide
from tacit.errors import PeerTimeoutError
from tacit.problems import Assignment, Evaluation, Problem, generate_assignment, shipped_problem
from tacit.runs import EvaluatingDriver, Limits, Progress, StopReason, drive, simulated_evaluator
from tacit.search import SearchParameters
from tacit.search.warming import warm_up
from tests.support.simulated import solve

LATE = 0.25


@pytest.mark.parametrize("kind", ["assignment", "tour", "two objectives"])
def test_the_result_comes_in_time(kind: str) -> None:
    problem: Problem = (
        shipped_problem("kroD100")
        if kind == "tour"
        else generate_assignment(1, objectives=2 if kind == "two objectives" else 1)
    )
    solve(
        problem, disclose="top:15", limits=Limits(generations=1)
    )  # everything is loaded from here on
    started = time.monotonic()
    result = solve(problem, disclose="top:15", deadline=0.5)
    elapsed = time.monotonic() - started
    assert result.timing is not None
    set_up = result.timing.set_up_seconds
    assert result.stopped == "deadline"
    assert elapsed - set_up < 0.5 + LATE
    assert result.timing.seconds < 0.5 + LATE
    assert result.generations > 3


def test_a_deadline_shorter_than_one_generation_still_gives_a_plan(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    result = solve(small_assignment, settings=small_search, deadline=1e-9)
    assert (result.stopped, result.generations, result.evaluations) == ("deadline", 0, 1)
    small_assignment.check_plan(result.plan)


class SlowEvaluator(SideBySide):
    """Takes its time, and remembers what it was told of the deadline."""

    def __init__(self, inner: SideBySide, seconds: float) -> None:
        super().__init__(inner.objectives)
        self._seconds = seconds
        self.until: list[float | None] = []

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        self.until.append(until)
        time.sleep(self._seconds)
        return super().evaluate(candidates, until=until)


def slow_run(
    problem: Problem, parameters: SearchParameters, *, seconds: float, deadline: float | None
) -> tuple[EvaluatingDriver, SlowEvaluator]:
    warm_up(problem, parameters)
    evaluator = SlowEvaluator(simulated_evaluator(problem, linear), seconds)
    limits = Limits(deadline=deadline, generations=3 if deadline is None else None)
    return EvaluatingDriver(problem, parameters, evaluator, seed=1, limits=limits), evaluator


def test_an_evaluation_that_is_not_expected_to_fit_is_not_started(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    run, evaluator = slow_run(small_assignment, small_search, seconds=0.15, deadline=0.5)
    started = time.monotonic()
    assert drive(run) is StopReason.DEADLINE
    assert time.monotonic() - started < 0.5 + LATE
    # The third ends at 0.45; a fourth would end at 0.6.
    assert len(evaluator.until) <= 3


def test_a_generation_that_did_not_fit_is_nobodys_fault(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    """A run that ends at its deadline is a success, whatever was under way then."""

    class Late(SlowEvaluator):
        peer = "the nodes"

        def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
            if len(self.until) == 2 and until is not None:
                time.sleep(max(0.0, until - time.monotonic()))
                raise PeerTimeoutError(self.peer, "did not finish in time")
            return super().evaluate(candidates, until=until)

    warm_up(small_assignment, small_search)
    for peer, notes in (("the nodes", []), ("node 1", ["node 1: did not finish in time"])):
        evaluator = Late(simulated_evaluator(small_assignment, linear), 0.0)
        evaluator.peer = peer
        run = EvaluatingDriver(
            small_assignment, small_search, evaluator, seed=1, limits=Limits(deadline=0.5)
        )
        assert drive(run) is StopReason.DEADLINE
        assert run.notes == notes


def test_evaluators_are_told_the_instant_of_the_deadline(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    run, evaluator = slow_run(small_assignment, small_search, seconds=0.01, deadline=0.2)
    until = time.monotonic() + 0.1
    drive(run, until=until)
    assert set(evaluator.until) == {until}
    run, evaluator = slow_run(small_assignment, small_search, seconds=0.0, deadline=None)
    drive(run)
    assert evaluator.until == [None] * 4


def test_the_deadline_counts_from_the_start_with_the_first_generation_in_it(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    run, evaluator = slow_run(small_assignment, small_search, seconds=0.0, deadline=0.2)
    # A deadline that lies in the past leaves no time for more than the one evaluation.
    assert drive(run, until=time.monotonic() - 0.8) is StopReason.DEADLINE
    assert len(evaluator.until) == 1


def test_slow_observers_count_too(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    def dawdle(view: Progress) -> None:
        time.sleep(0.1)

    started = time.monotonic()
    result = solve(small_assignment, settings=small_search, deadline=0.35, observe=dawdle)
    assert result.timing is not None
    assert time.monotonic() - started - result.timing.set_up_seconds < 0.35 + LATE
    assert result.generations <= 4
