"""A start that is grown on allowed pairs: the clear one's plan byte for byte, at its cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.errors import ParameterError
from tacit.mpc.local import deal_integers, reveal, run_parties
from tacit.mpc.sealed import AllowedCells, cost_of_growing, grown_in_the_clear, grown_start
from tacit.mpc.sealed.moves import TableShape
from tacit.mpc.sealed.state import SealedState
from tacit.mpc.session import Session
from tests.mpc.both import check_cost, three_and_four

SPREAD = 9
DOCS = Path(__file__).parents[3] / "docs" / "protocols"


@dataclass(frozen=True)
class Sparse:
    """Costs of pairs of which few are allowed, and a plan that is among them."""

    costs: NDArray[np.int64]
    cells: AllowedCells
    known: NDArray[np.intp]

    @classmethod
    def random(cls, size: int, degree: float, seed: int, *, extreme: bool = False) -> Sparse:
        rng = np.random.default_rng(seed)
        allowed = rng.random((size, size)) < degree / size
        known = rng.permutation(size)
        allowed[np.arange(size), known] = True
        costs = rng.integers(0, 2, (size, size)) * SPREAD
        if not extreme:
            costs = rng.integers(0, SPREAD, (size, size), endpoint=True)
        return cls(costs, AllowedCells(allowed, SPREAD), known)

    @property
    def plan(self) -> NDArray[np.intp]:
        return grown_in_the_clear(self.costs, self.cells, self.known)

    def total(self, plan: NDArray[np.intp]) -> int:
        return int(self.costs[np.arange(len(plan)), plan].sum())


def stairs() -> Sparse:
    """One path leads from the row that stays free to the free column, and it is too long."""
    size = 12
    allowed = np.eye(size, dtype=bool) | np.eye(size, k=-1, dtype=bool)
    costs = np.where(np.eye(size, k=-1, dtype=bool), 0, SPREAD)
    return Sparse(costs, AllowedCells(allowed, SPREAD), np.arange(size))


CASES = {
    "one row": Sparse.random(1, 1, 1),
    "two rows": Sparse.random(2, 2, 2),
    "few pairs": Sparse.random(6, 2, 3),
    "as far apart as can be": Sparse.random(6, 3, 4, extreme=True),
    "a path that is too long": stairs(),
}


@pytest.mark.parametrize(
    ("name", "nodes", "parents"),
    [(name, 3, 1) for name in CASES] + [("few pairs", 4, 2), ("a path that is too long", 4, 1)],
)
def test_nodes_grow_the_plan_of_the_clear_start(name: str, nodes: int, parents: int) -> None:
    asked = CASES[name]
    cells, size, items = asked.cells, asked.cells.size, 10 + np.arange(asked.cells.size)
    shape = TableShape("assignment", size, size, key_bits=20, total_bits=33, parents=parents)
    values = np.where(cells.allowed, SPREAD - asked.costs, -50)
    dealt = deal_integers(np.ascontiguousarray(values.T), nodes=nodes)

    async def node(s: Session) -> SealedState:
        return await grown_start(
            s, dealt[s.me], shape, cells, asked.known, high=SPREAD, columns=items
        )

    run = run_parties(node, nodes=nodes, timeout=60.0)
    plan, rows = asked.plan, np.arange(size)
    table = reveal([state.table for state in run.results]).astype(np.int64)
    for each in table:
        assert np.array_equal(each[:, :-1], values.T[plan])
        assert np.array_equal(each[:, -1], items[plan])
    opened = reveal([state.plan for state in run.results])
    assert opened.tolist() == [values[rows, plan].sum(), *items[plan]]
    check_cost(run, cost_of_growing(nodes, shape, cells))


def test_where_rows_stay_free_the_known_plan_is_taken() -> None:
    asked = stairs()
    assert asked.plan.tolist() == asked.known.tolist()


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_grown_plan_is_allowed_and_costs_no_more_than_the_known_one(
    size: int, degree: int, seed: int, extreme: bool
) -> None:
    asked = Sparse.random(size, degree, seed, extreme=extreme)
    plan = asked.plan
    assert sorted(plan) == list(range(size))
    assert asked.cells.allowed[np.arange(size), plan].all()
    assert asked.total(plan) <= asked.total(asked.known)


def test_grown_plans_are_near_the_optimum() -> None:
    lost = []
    for seed in range(9):
        asked = Sparse.random(40, 5, seed)
        high = np.where(asked.cells.allowed, asked.costs, 10**4)
        best = int(high[linear_sum_assignment(high)].sum())
        lost.append(asked.total(asked.plan) / best)
    assert np.median(lost) < 1.05


@three_and_four
def test_the_page_has_the_cost_of_100_rows(nodes: int) -> None:
    allowed, rows = np.zeros((100, 100), dtype=bool), np.arange(100)
    for number in range(6):
        allowed[rows, (rows + 17 * number) % 100] = True
    shape = TableShape("assignment", 100, 100, key_bits=30, total_bits=30)
    declared = cost_of_growing(nodes, shape, AllowedCells(allowed, 1000))
    name = {3: "three nodes", 4: "four nodes"}[nodes]
    line = f"| {name} | {declared.rounds:,} | {declared.bytes_per_node:,} |"
    assert line in (DOCS / "grown-start.md").read_text()


def test_costs_that_words_do_not_hold_are_refused() -> None:
    with pytest.raises(ParameterError, match="need 6"):
        AllowedCells(np.ones((3, 3), dtype=bool), 1 << 62)
    with pytest.raises(ParameterError, match="as many rows as columns"):
        AllowedCells(np.ones((2, 3), dtype=bool), 9)
