"""The exact algorithm against all permutations, and what it refuses."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.problems import Assignment, Objective, Sense, Tour
from tacit.runs import SolveSettings
from tests.support.simulated import solve


def public(weights: NDArray[np.int64], sense: Sense = "maximize", scale: int = 1) -> Objective:
    return Objective("pay", weights, sense=sense, confidential=False, scale=scale)


@pytest.mark.parametrize("sense", ["maximize", "minimize"])
@pytest.mark.parametrize("rows", [1, 3, 5])
@given(data=st.data())
def test_no_plan_is_better(sense: Sense, rows: int, data: st.DataObject) -> None:
    weights = data.draw(arrays(np.int64, (rows, 5), elements=st.integers(0, 20)))
    problem = Assignment(name="p", rows=rows, columns=5, objectives=(public(weights, sense),))
    result = solve(problem, settings=SolveSettings(algorithm="exact"))
    values = [
        sum(int(weights[row, column]) for row, column in enumerate(plan))
        for plan in permutations(range(5), rows)
    ]
    best = max(values) if sense == "maximize" else min(values)
    assert result.value == [best]
    assert result.optimum == best
    assert sum(int(weights[row, column]) for row, column in enumerate(result.plan)) == best
    assert result.percent_of_optimum == (100 if best else None)
    assert (result.algorithm, result.engine, result.stopped) == ("exact", "clear", "optimal")


def test_values_are_in_the_users_unit() -> None:
    problem = Assignment(
        name="p",
        rows=2,
        columns=2,
        objectives=(public(np.array([[150, 225], [100, 400]]), "minimize", 100),),
    )
    result = solve(problem, settings=SolveSettings(algorithm="exact"))
    assert result.plan == [1, 0]
    assert (result.value, result.optimum, result.percent_of_optimum) == ([3.25], 3.25, 100.0)
    assert result.best_known.disclosed == [3.25]


def test_forbidden_pairs_are_left_out() -> None:
    weights = np.array([[9, 1], [1, 9]])
    problem = Assignment(
        name="p",
        rows=2,
        columns=2,
        objectives=(public(weights),),
        forbidden=np.array([[True, False], [False, False]]),
    )
    assert solve(problem, settings=SolveSettings(algorithm="exact")).plan == [1, 0]


def test_several_objectives_give_a_front_that_nothing_found_by_search_dominates() -> None:
    rng = np.random.Generator(np.random.PCG64(5))
    a, b = (rng.integers(0, 50, size=(5, 5)) for _ in range(2))
    objectives = (
        Objective("a", a, confidential=False),
        Objective("b", b, confidential=False),
    )
    problem = Assignment(name="p", rows=5, columns=5, objectives=objectives)
    front = solve(problem, settings=SolveSettings(algorithm="exact")).best_known.actual
    assert front is not None
    everything = [
        (sum(int(a[r, c]) for r, c in enumerate(p)), sum(int(b[r, c]) for r, c in enumerate(p)))
        for p in permutations(range(5))
    ]
    assert [max(v[0] for v in everything), max(v[1] for v in everything)] == [
        max(v[0] for v in front),
        max(v[1] for v in front),
    ]
    for x, y in front:
        assert not any((p >= x and q >= y) and (p, q) != (x, y) for p, q in everything)


def test_confidential_objectives_are_refused(small_assignment: Assignment) -> None:
    with pytest.raises(ParameterError, match="every objective in the clear and 'weight' is conf"):
        solve(small_assignment, settings=SolveSettings(algorithm="exact"))


def test_tours_are_refused(small_tour: Tour) -> None:
    with pytest.raises(ParameterError, match="is a tour; use genetic"):
        solve(small_tour, settings=SolveSettings(algorithm="exact"))


def test_absent_weights_are_refused() -> None:
    sealed = Objective("pay", None, weight_bound=9, confidential=False)
    problem = Assignment(name="p", rows=2, columns=2, objectives=(sealed,))
    with pytest.raises(ParameterError, match="exact needs the weights of 'p'"):
        solve(problem, settings=SolveSettings(algorithm="exact"))
