"""Adding up weights: compiled, plain, and the definition agree to the integer."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.problems import Assignment, Objective, Tour


@st.composite
def weights_and_plans(draw: st.DrawFn, *, square: bool) -> Any:
    rows = draw(st.integers(2, 6))
    columns = rows if square else rows + draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = rng.integers(0, 2**40, (rows, columns))
    plans = [rng.permutation(columns)[:rows] for _ in range(draw(st.integers(1, 5)))]
    return weights, np.array(plans, dtype=np.int32)


@given(weights_and_plans(square=False))
def test_assignment_sums(case: Any) -> None:
    weights, plans = case
    expected = [sum(int(weights[r, c]) for r, c in enumerate(plan)) for plan in plans]
    size = {"rows": weights.shape[0], "columns": weights.shape[1]}
    problem = Assignment(name="p", objectives=(Objective("o", weights),), **size)
    assert problem.sums(weights, plans).tolist() == expected
    assert problem.cell_sums(weights, plans).tolist() == expected


@given(weights_and_plans(square=True))
def test_tour_sums(case: Any) -> None:
    weights, tours = case
    expected = [sum(int(weights[tour[i - 1], tour[i]]) for i in range(len(tour))) for tour in tours]
    size = {"rows": weights.shape[0], "columns": weights.shape[1]}
    problem = Tour(name="p", objectives=(Objective("o", weights),), **size)
    assert problem.sums(weights, tours).tolist() == expected
    assert problem.cell_sums(weights, tours).tolist() == expected
