"""The best-known set of a run."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.problems import Assignment, Evaluation
from tacit.runs import Limits
from tacit.runs.history import BestKnown, is_better, update_best_known
from tacit.search import SearchParameters, SearchState
from tests.runs.flat import solve_with
from tests.support.simulated import solve

Told = tuple[int | bool | None, ...]


def generation(number: int, told: Told) -> tuple[SearchState, Evaluation]:
    """A population of two, whose first is the estimated best; its genome tells the generation."""
    genomes = np.array([[number, 0], [number, 1]], dtype=np.int32)
    estimates = np.array([[1.0], [0.0]]).repeat(len(told), axis=1)
    state = SearchState(number, genomes, estimates, np.array([0, 1], dtype=np.int32), np.zeros(2))
    return state, Evaluation(estimates, (genomes[:, 0],) * len(told), told)


def follow(told: list[Told]) -> tuple[BestKnown, list[bool]]:
    known: BestKnown | None = None
    improvements = []
    for number, each in enumerate(told):
        known, improved = update_best_known(known, *generation(number, each))
        improvements.append(improved)
    assert known is not None
    return known, improvements


@pytest.mark.parametrize(
    ("told", "best_generation", "improvements"),
    [
        ([(5,)], 0, [True]),
        ([(5,), (7,), (6,)], 1, [True, True, False]),
        ([(5,), (7,), (6,), (7,)], 3, [True, True, False, False]),
        ([(-5,), (-9,), (-4,)], 2, [True, False, True]),
        ([(0,), (0,)], 1, [True, False]),
        ([(True,), (False,), (True,), (False,)], 2, [True, False, True, False]),
        ([(None,), (None,), (None,)], 2, [True, False, False]),
        ([(5, 5), (4, 6), (4, 6)], 2, [True, True, False]),
        ([(5, None), (5, None), (6, None)], 2, [True, False, True]),
        ([(True, 3), (False, 3), (True, 2)], 2, [True, False, True]),
    ],
)
def test_the_best_known_set_is_that_of_the_highest_told_value_the_latest_of_equals(
    told: list[Told], best_generation: int, improvements: list[bool]
) -> None:
    known, seen = follow(told)
    assert known.generation == best_generation
    assert known.disclosed == told[best_generation]
    assert known.genomes.tolist() == [[best_generation, 0]], "the estimated-best set of it"
    assert seen == improvements


def test_a_value_that_falls_and_rises_again_is_no_improvement() -> None:
    assert follow([(5, 5), (4, 5), (5, 5)])[1] == [True, False, False]


@pytest.mark.parametrize(
    ("told", "before", "better"),
    [
        (4, 3, True),
        (3, 3, False),
        (2, 3, False),
        (4, None, True),
        (None, 3, False),
        (True, False, True),
        (False, None, False),
    ],
)
def test_better_is_what_a_value_or_a_bit_says(
    told: int | bool | None, before: int | bool | None, better: bool
) -> None:
    assert is_better(told, before) is better


def test_under_none_the_plan_has_the_best_value_that_was_ever_told(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    # Without elites the best may get lost again, and the run must remember it.
    forgetful = small_search.with_changes(elites=0, tournament=1)
    for seed in range(5):
        result = solve_with(small_assignment, parameters=forgetful, generations=30, seed=seed)
        told = [float(values[0] or 0) for values in result.history.disclosed_best]
        latest = max(i for i, value in enumerate(told) if value == max(told))
        assert result.best_known.generation == latest
        assert result.best_known.disclosed == [max(told)]
        assert result.value == [max(told)]


@pytest.mark.parametrize("disclosure", ["order", "quantiles:4", "buckets:4", "top:5", "above:80"])
def test_under_a_disclosure_the_best_known_set_contains_the_best_individual(
    small_assignment: Assignment, small_search: SearchParameters, disclosure: str
) -> None:
    result = solve_with(
        small_assignment, disclose=disclosure, parameters=small_search, generations=30
    )
    assert result.best_known.actual is not None
    values = [each[0] for each in result.best_known.actual]
    assert max(values) == result.best_known.disclosed[0]
    assert result.plan == result.best_known.plans[0]


@pytest.mark.parametrize("best", ["improvement", "nothing"])
def test_withheld_values_show_nowhere_but_in_what_the_caller_knows_himself(
    small_assignment: Assignment, small_search: SearchParameters, best: str
) -> None:
    result = solve_with(
        small_assignment, disclose="top:5", best=best, parameters=small_search, generations=20
    )
    told = [values[0] for values in result.history.disclosed_best]
    if best == "nothing":
        assert told == [None] * 21
        assert result.best_known.generation == 20
    else:
        assert set(told) == {True, False}
        latest = max(i for i, improved in enumerate(told) if improved)
        assert result.best_known.generation == latest
    assert result.history.estimate == [0.0] * 21
    assert result.objectives[0].best == best


def test_with_several_objectives_the_latest_set_is_the_best_known(
    small_two_objectives: Assignment,
) -> None:
    result = solve(small_two_objectives, disclose="order", limits=Limits(generations=8))
    assert result.best_known.generation == 8
    assert result.best_known == result.estimated_best
