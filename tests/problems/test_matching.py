"""Assignments found without SciPy, against trying all plans."""

from itertools import permutations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.problems.matching import feasible_assignment, least_assignment


@given(
    st.tuples(st.integers(1, 4), st.integers(0, 2)).flatmap(
        lambda size: arrays(np.bool_, (size[0], size[0] + size[1]))
    )
)
def test_finds_a_plan_exactly_where_there_is_one(allowed: Any) -> None:
    rows, columns = allowed.shape
    plan = feasible_assignment(allowed)
    possible = any(
        all(allowed[row, column] for row, column in enumerate(columns_of))
        for columns_of in permutations(range(columns), rows)
    )
    assert (plan is not None) == possible
    if plan is not None:
        assert len(set(plan.tolist())) == rows
        assert allowed[np.arange(rows), plan].all()


@given(
    st.tuples(st.integers(1, 4), st.integers(0, 2)).flatmap(
        lambda size: arrays(
            np.float64,
            (size[0], size[0] + size[1]),
            elements=st.sampled_from([0.0, 1.0, 2.0, 7.0, 1000.0, -3.0, np.inf]),
        )
    )
)
def test_no_plan_costs_less(costs: Any) -> None:
    rows, columns = costs.shape
    least = min(
        float(costs[np.arange(rows), list(plan)].sum())
        for plan in permutations(range(columns), rows)
    )
    plan = least_assignment(costs)
    assert (plan is None) == (least == np.inf)
    if plan is not None:
        assert len(set(plan.tolist())) == rows
        assert costs[np.arange(rows), plan].sum() == least


def test_long_chains_do_not_exhaust_the_stack() -> None:
    n = 400
    allowed = np.eye(n, dtype=np.bool_) | np.eye(n, k=1, dtype=np.bool_)
    allowed[-1] = np.arange(n) == 0
    plan = feasible_assignment(allowed)
    assert plan is not None
    assert plan.tolist() == [*range(1, n), 0]
