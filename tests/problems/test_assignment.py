"""Assignments, with and without capacities."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import ProblemError
from tacit.problems import Assignment, CapacitatedAssignment, Objective

WEIGHTS = np.array([[1, 9, 2], [8, 3, 4]])


def problem(forbidden: Any = None, sense: Any = "maximize") -> Assignment:
    objective = Objective("pay", WEIGHTS, sense=sense)
    return Assignment(name="p", rows=2, columns=3, objectives=(objective,), forbidden=forbidden)


def test_a_genome_permutes_all_columns_and_its_head_is_the_plan() -> None:
    genomes = np.array([[2, 0, 1], [1, 2, 0]], dtype=np.int32)
    assert problem().genome_length == 3
    assert problem().plans(genomes).tolist() == [[2, 0], [1, 2]]


def test_costs_count_negatively() -> None:
    plans = np.array([[1, 0]], dtype=np.int32)
    assert problem().fitness(0, plans).tolist() == [17]
    assert problem(sense="minimize").fitness(0, plans).tolist() == [-17]


def test_more_rows_than_columns_are_refused() -> None:
    with pytest.raises(ProblemError, match="3 rows cannot each get one of 2 columns"):
        Assignment(name="p", rows=3, columns=2, objectives=(Objective("pay", WEIGHTS.T),))
    with pytest.raises(ProblemError, match="no rows"):
        Assignment(name="p", rows=0, columns=2, objectives=())


def test_forbidden_pairs_must_leave_a_plan() -> None:
    mask = np.array([[False, True, True], [False, True, True]])
    with pytest.raises(ProblemError, match="leave no way"):
        problem(mask)
    with pytest.raises(ProblemError, match="2 x 2 in a 2 x 3 problem"):
        problem(np.zeros((2, 2), dtype=np.bool_))
    allowed = problem(np.array([[True, False, False], [False, True, True]])).allowed
    assert allowed is not None
    assert allowed.tolist() == [[False, True, True], [True, False, False]]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ([0], "1 entries in place of 2"),
        ([0, 3], "takes a column that does not exist"),
        ([0, 0], "takes a column twice"),
        ([1, 2], "takes a pair that is forbidden"),
    ],
)
def test_plans_that_are_not_feasible_are_refused(plan: Any, message: str) -> None:
    mask = np.array([[False, True, False], [False, False, False]])
    with pytest.raises(ProblemError, match=message):
        problem(mask).check_plan(plan)
    problem(mask).check_plan([2, 0])


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
