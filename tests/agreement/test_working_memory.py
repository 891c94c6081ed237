"""Steps of a sealed assignment take no more memory than is declared for them."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from msgspec.structs import replace

from tacit.agreement import AssignmentGroup, SealedRun, assignment_groups
from tacit.agreement.sizes import prepare_bytes, steps_bytes
from tacit.agreement.terms import Ownership, PublicProblem
from tacit.identity.config import MOST_WORKING_MEGABYTES
from tacit.mpc import check_ranges
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tacit.node.searching import solve_assignment
from tacit.problems import Assignment, Objective
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters
from tests.on_nodes.fixtures import example_cast


def large(rows: int, bound: int) -> Assignment:
    weights = np.random.default_rng(1).integers(0, bound, (rows, rows))
    about = Objective("pay", weights, weight_bound=bound)
    return Assignment(name="large", rows=rows, columns=rows, objectives=(about,))


def group_of(problem: Assignment, lag: int) -> AssignmentGroup:
    settings = AssignmentParameters(generations=2, iterations=3, lag=lag, gap=2)
    (group,) = assignment_groups(problem, [(1,)], settings, seed=1)
    return group


@pytest.mark.parametrize("lag", [0, 1])
def test_a_node_as_it_is_set_up_takes_a_thousand_rows(lag: int) -> None:
    shares = 2 * 8 * 1000 * 1000
    needed = steps_bytes(group_of(large(1000, 1000), lag), nodes=3) + shares
    assert needed < MOST_WORKING_MEGABYTES * 1_000_000


@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize("owners", [1, 40, 900])
def test_a_range_check_takes_no_more_memory_than_is_declared(owners: int, nodes: int) -> None:
    """One owner has the rest of the rows, so that a grid of all answers is large."""
    rows, columns = 1000, 40
    agreement = example_cast().agreement
    split = [Ownership(f"{row}", [row]) for row in range(owners - 1)]
    split.append(Ownership("most", list(range(owners - 1, rows))))
    terms = replace(agreement.objectives[0], owners=split)
    problem = PublicProblem("p", "assignment", rows, columns)
    asked = replace(agreement, problem=problem, objectives=[terms],
                    nodes=[agreement.nodes[0]] * nodes)  # fmt: skip
    counts = [columns * len(each.rows) for each in split]
    weights = deal_integers(np.zeros(rows * columns, dtype=np.int64), nodes=nodes)
    tracemalloc.start()
    try:
        run_parties(
            lambda s: check_ranges(s, weights[s.me], counts, [9] * owners, label="r"),
            nodes=nodes, timeout=120.0,
        )  # fmt: skip
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < nodes * prepare_bytes(asked, 0)


@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize(
    ("rows", "bound", "lag"),
    [
        (40, 1000, 1),
        (80, 1000, 0),
        (80, 1000, 1),
        (80, 1 << 34, 1),
        (150, 1000, 0),
        (150, 1 << 32, 1),
        (300, 1000, 1),
    ],
)
def test_a_run_takes_no_more_memory_than_is_declared(
    rows: int, bound: int, lag: int, nodes: int
) -> None:
    problem = large(rows, bound)
    group = group_of(problem, lag)
    run = SealedRun(problem, group.parameters, ((1,),), group.parameters.steps)
    values = deal_integers(weighted_values(problem, (1,)), nodes=nodes)

    async def node(s: Session) -> ArithmeticShare:
        def of(_: int) -> ArithmeticShare:
            return values[s.me]

        kept, _ = await solve_assignment(s, run, group, run.stages_between(0, 0), of, [])
        shares, _ = await solve_assignment(s, run, group, run.stages_between(0, 5), of, kept)
        return shares[-1]

    declared = steps_bytes(group, nodes=nodes)
    tracemalloc.start()
    try:
        run_parties(node, nodes=nodes, timeout=120.0)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < nodes * declared
