"""A start that is grown: where it is taken, what it may take, and that it is found once."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.engine.agreement.grown import GrownSchedule
from tacit.engine.agreement.sealed import course_of, largest_message, search_course, table_of
from tacit.engine.agreement.working_memory import generations_bytes
from tacit.errors import AgreementError
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.sealed import AllowedCells, grown_start
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tacit.problems import Assignment, Objective, Problem
from tacit.search.moves import SealedParameters, public_shape
from tacit.search.sealed import value_table
from tests.verify.test_recorded_lies import recorded


def with_mask(forbidden: NDArray[np.bool_], bound: int = 1000) -> Problem:
    rows = len(forbidden)
    weights = np.random.default_rng(1).integers(0, bound, (rows, rows))
    costs = Objective("costs", weights, weight_bound=bound, sense="minimize")
    return Assignment(
        name="masked", rows=rows, columns=rows, objectives=(costs,), forbidden=forbidden
    )


def around_the_diagonal(rows: int, each: int) -> NDArray[np.bool_]:
    """So many pairs per row are allowed."""
    distance: NDArray[np.intp] = (np.arange(rows) - np.arange(rows)[:, None]) % rows
    return distance >= each


def grown_schedule(problem: Problem) -> GrownSchedule:
    parameters = SealedParameters(block=2, start="grown")
    course = search_course(problem, public_shape(problem, (1,)), parameters, seed=0, stream=0)
    assert isinstance(course, GrownSchedule)
    return course


@pytest.mark.parametrize(("rows", "each", "bound"), [(92, 23, 1 << 20), (160, 40, 1 << 36)])
def test_growing_takes_no_more_memory_than_is_declared(
    rows: int, each: int, bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One sweep: all take the same.
    monkeypatch.setattr(AllowedCells, "sweeps", (2,))
    problem = with_mask(around_the_diagonal(rows, each), bound)
    course = grown_schedule(problem)
    grown, table, items = course.grown, table_of(course), problem.sealed_items
    values = deal_integers(np.ascontiguousarray(value_table(problem, (1,)).T))

    async def node(s: Session) -> ArithmeticShare:
        state = await grown_start(
            s, values[s.me], table, grown.cells, grown.known, high=grown.high, columns=items
        )
        return state.plan

    declared = generations_bytes(course, nodes=3)
    tracemalloc.start()
    try:
        run_parties(node, timeout=60.0)
        assert tracemalloc.get_traced_memory()[1] < 3 * declared
    finally:
        tracemalloc.stop()


def test_the_minima_of_a_start_count_as_messages() -> None:
    course = grown_schedule(with_mask(around_the_diagonal(92, 23)))
    bits = course.grown.cells.key_bits
    # Each of 92 columns has 23 cells and a public number, and all pairs of them are compared.
    assert largest_message(course) == 92 * (24 * 23 // 2) * bits // 8


def test_where_many_pairs_are_allowed_no_start_is_grown() -> None:
    grown_schedule(with_mask(around_the_diagonal(12, 8)))
    grown_schedule(with_mask(around_the_diagonal(100, 25)))
    for rows, each in ((12, 9), (100, 26), (100, 99)):
        with pytest.raises(AgreementError, match="few pairs are allowed"):
            grown_schedule(with_mask(around_the_diagonal(rows, each)))


def test_a_course_is_found_once_for_all_batches_of_a_search() -> None:
    agreement = recorded("sealed")[0]
    assert course_of(agreement, 0, seed=1) is course_of(agreement, 0, seed=1)
    assert course_of(agreement, 0, seed=1) is not course_of(agreement, 0, seed=2)
