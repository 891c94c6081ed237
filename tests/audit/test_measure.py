from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.audit.measure import Truth, as_matrix, cells_that_count, centred
from tacit.audit.record import RecordedProblem

ASSIGNMENT = RecordedProblem("p", "assignment", 5, 5, False, [(0, 1), (3, 3)], [])
TOUR = RecordedProblem("t", "tour", 6, 6, True, [], [])
ONE_WAY = RecordedProblem("t", "tour", 6, 6, False, [], [])


def secret(
    problem: RecordedProblem, seed: int = 0
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    drawn = np.random.default_rng(seed).integers(0, 100, (problem.rows, problem.columns))
    weights = drawn.astype(np.float64)
    return weights + weights.T if problem.symmetric else weights


@given(seed=st.integers(0, 50), problem=st.sampled_from([ASSIGNMENT, TOUR, ONE_WAY]))
def test_constants_of_rows_and_columns_do_not_count(seed: int, problem: RecordedProblem) -> None:
    weights = secret(problem, seed)
    rng = np.random.default_rng(seed + 1)
    rows = rng.normal(size=problem.rows) * 50
    columns = rows if problem.symmetric else rng.normal(size=problem.columns) * 50
    score = Truth(problem, weights, 1).score((weights + rows[:, None] + columns).ravel())
    assert score.correlation == pytest.approx(1)
    assert score.nrmse == pytest.approx(0, abs=1e-6)
    assert score.plan_quality == pytest.approx(100)


@pytest.mark.parametrize("problem", [ASSIGNMENT, TOUR, ONE_WAY])
def test_perfect_and_empty_estimates(problem: RecordedProblem) -> None:
    truth = Truth(problem, secret(problem), 1)
    perfect = truth.score(truth.weights.ravel() / 7, unit=7)
    assert perfect.correlation == pytest.approx(1)
    assert perfect.best_columns == 1
    assert perfect.nrmse == pytest.approx(0, abs=1e-9)
    empty = truth.score(np.zeros(problem.rows * problem.columns))
    assert empty.correlation == 0
    assert empty.nrmse == pytest.approx(1)
    against = truth.score(-truth.weights.ravel())
    assert against.correlation == pytest.approx(-1)
    assert against.plan_quality < 100


def test_of_more_columns_than_rows_columns_differ() -> None:
    everything = np.ones((2, 3), dtype=np.bool_)
    kept = centred(np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 3.0]]), everything)
    assert kept.tolist() == [[-1, -1, 2], [-1, -1, 2]]


def test_known_rows_and_impossible_cells_do_not_count() -> None:
    counts = cells_that_count(ASSIGNMENT, (2,))
    assert not counts[0, 1]
    assert not counts[2].any()
    assert counts.sum() == 25 - 2 - 5
    assert cells_that_count(TOUR, (0,)).sum() == 20
    assert cells_that_count(ONE_WAY, (0,)).sum() == 25
    assert np.array_equal(as_matrix(TOUR, np.arange(36.0)), as_matrix(TOUR, np.arange(36.0)).T)


@pytest.mark.parametrize("problem", [TOUR, ONE_WAY, ASSIGNMENT])
def test_the_attackers_plan_is_feasible_and_good(problem: RecordedProblem) -> None:
    for seed in range(8):
        weights = secret(problem, seed)
        plan = problem.known.good_plan(weights)
        assert sorted(plan.tolist()) == list(range(problem.columns))

        def value(order: tuple[int, ...], weights: np.ndarray = weights) -> float:
            if problem.kind == "assignment":
                if any(order[row] == column for row, column in problem.forbidden):
                    return -np.inf
                return float(weights[np.arange(5), order].sum())
            return float(weights[order, np.roll(order, -1)].sum())

        best = max(value(each) for each in permutations(range(problem.columns)))
        found = value(tuple(plan.tolist()))
        assert found == best if problem.kind == "assignment" else found >= 0.9 * best
