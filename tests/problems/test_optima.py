"""The yardsticks, against trying every plan."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import ProblemError
from tacit.problems import (
    Assignment,
    Objective,
    generate_assignment,
    generate_capacitated,
    generate_delays,
    generate_tour,
    ground_truth,
    optimal_value,
    optimum,
    shipped_problem,
)


@st.composite
def small_assignments(draw: st.DrawFn) -> Any:
    rows, more = draw(st.integers(1, 4)), draw(st.integers(0, 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.integers(0, draw(st.sampled_from([3, 1000])), (rows, rows + more))
    forbidden = rng.random((rows, rows + more)) < draw(st.sampled_from([0.0, 0.3]))
    forbidden[np.arange(rows), rng.permutation(rows)] = False
    objective = Objective("w", weights, sense=draw(st.sampled_from(["maximize", "minimize"])))
    return Assignment(
        name="p", rows=rows, columns=rows + more, objectives=(objective,), forbidden=forbidden
    )


@given(small_assignments())
def test_no_plan_beats_the_optimum(problem: Any) -> None:
    objective = problem.objectives[0]
    values = [
        sum(int(objective.weights[row, column]) for row, column in enumerate(plan))
        for plan in permutations(range(problem.columns), problem.rows)
        if not problem.forbidden[np.arange(problem.rows), plan].any()
    ]
    best = optimum(problem)
    assert best is not None
    assert best.plan is not None
    assert best.value == (max if objective.sense == "maximize" else min)(values)
    assert optimal_value(problem) == best.value
    problem.check_plan(best.plan)
    plans = np.array([best.plan], dtype=np.int32)
    assert objective.sign * problem.fitness(0, plans)[0] == best.value


@pytest.mark.parametrize("cells", [0, 10_000])
def test_the_value_of_the_optimum_does_not_depend_on_who_finds_it(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.problems.optima.SMALL_CELLS", cells)
    shared = generate_capacitated(3, rows=20, columns=6)
    for problem in (generate_delays(2, flights=12, slots=15, airlines=2), shared):
        best = optimum(problem)
        assert best is not None
        assert optimal_value(problem) == best.value


def test_the_optimum_of_a_tour_is_what_is_known() -> None:
    found = optimum(shipped_problem("kroB100"))
    assert found is not None
    assert (found.value, found.plan) == (22141, None)
    assert optimum(generate_tour(1, cities=5)) is None


def test_weights_that_are_elsewhere_leave_the_stated_optimum() -> None:
    theirs = Objective("w", None, weight_bound=9)
    assert optimum(Assignment(name="p", rows=1, columns=2, objectives=(theirs,))) is None
    known = Assignment(name="p", rows=1, columns=2, objectives=(theirs,), optimum=7)
    found = optimum(known)
    assert found is not None
    assert found.value == 7


def test_optimum_and_ground_truth_each_refuse_the_others_problems() -> None:
    with pytest.raises(ProblemError, match="has 2 objectives and no single optimum"):
        optimum(generate_assignment(1, rows=3, objectives=2))
    with pytest.raises(ProblemError, match="so it has no ground truth; use its optimum"):
        ground_truth(generate_assignment(1, rows=3))
    with pytest.raises(ProblemError, match="so it has no ground truth"):
        ground_truth(shipped_problem("rd100"))
    theirs = Objective("theirs", None, weight_bound=9)
    mine = Objective("mine", np.array([[1, 2]]))
    with pytest.raises(ProblemError, match="the ground truth needs all weights"):
        ground_truth(Assignment(name="p", rows=1, columns=2, objectives=(mine, theirs)))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.integers(2, 3), st.sampled_from(["maximize", "minimize"]))
def test_no_plan_dominates_the_ground_truth(seed: int, objectives: int, sense: Any) -> None:
    problem = generate_assignment(seed, rows=4, objectives=objectives, sense=sense)
    truth = ground_truth(problem)
    every = np.array(list(permutations(range(4))), dtype=np.int32)
    fitness = np.stack([problem.fitness(i, every) for i in range(objectives)], axis=1)
    sign = problem.objectives[0].sign
    assert len(np.unique(truth.values, axis=0)) == len(truth.values) == len(truth.plans)
    for plan, values in zip(truth.plans, truth.values, strict=True):
        mine = sign * values
        own = [int(problem.fitness(i, plan[None, :])[0]) for i in range(objectives)]
        assert own == mine.tolist()
        # Only where a weight is zero may an unlucky tie be dominated by a plan outside the set.
        inside = sign * truth.values
        beaten = (inside >= mine).all(axis=1) & (inside > mine).any(axis=1)
        assert not beaten.any()
    best_first = sign * truth.values[0, 0]
    assert best_first == fitness[:, 0].max()


def test_forbidden_pairs_stay_out_of_the_ground_truth() -> None:
    drawn = generate_assignment(2, rows=5, objectives=2)
    forbidden = np.eye(5, dtype=np.bool_)
    problem = Assignment(
        name="p", rows=5, columns=5, objectives=drawn.objectives, forbidden=forbidden
    )
    for plan in ground_truth(problem).plans:
        problem.check_plan(plan.tolist())


def test_size_on_a_problem_of_the_paper() -> None:
    truth = ground_truth(generate_assignment(1, objectives=2))
    assert 40 <= len(truth.values) <= 101
    assert (np.diff(truth.values[:, 0]) < 0).all()
    assert (np.diff(truth.values[:, 1]) > 0).all()
