"""Capacitated assignment: what a node must refuse, and at which cost."""

from __future__ import annotations

import tracemalloc
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ProblemError
from tacit.problems import CapacitatedAssignment, Objective


def capacitated(rows: int, capacities: tuple[int, ...]) -> CapacitatedAssignment:
    pay = Objective("pay", None, weight_bound=9)
    return CapacitatedAssignment(
        name="p", rows=rows, columns=len(capacities), objectives=(pay,), capacities=capacities
    )


@given(st.integers(1, 4), st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple))
def test_a_plan_is_refused_exactly_if_a_column_takes_too_many(
    rows: int, capacities: tuple[int, ...]
) -> None:
    if sum(capacities) < rows:
        return
    problem = capacitated(rows, capacities)
    for plan in product(range(len(capacities)), repeat=rows):
        fits = all(plan.count(column) <= most for column, most in enumerate(capacities))
        assert (problem.fault(np.array([plan], dtype=np.int32)) is None) == fits, plan


def test_a_check_takes_memory_for_its_candidates_not_for_all_columns() -> None:
    problem = capacitated(1, (1,) * 65536)
    plans = np.zeros((400, 1), dtype=np.int32)
    tracemalloc.start()
    try:
        assert problem.fault(plans) is None
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_more_places_than_a_search_can_permute_are_refused() -> None:
    with pytest.raises(ProblemError, match="too many places for 300 rows"):
        capacitated(300, (10**9,) * 300)
