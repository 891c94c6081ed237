"""The protocol gives what the clear twin gives, at the cost that it declares."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.assignment import iterations, outcome, polynomial
from tacit.mpc.assignment.clear import ClearAssignment, ClearState, on_cycles
from tacit.mpc.assignment.gap import ladder, rung_of
from tacit.mpc.assignment.layout import Layout, public_matching
from tacit.mpc.assignment.outcome import Answer, Outcome
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.assignment.ties import Ties
from tacit.mpc.local import PartiesRun, run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import deal, deal_bits, reconstruct
from tests.mpc.assignment.hard_costs import FAMILIES, Numbers


def signed(words: NDArray[Any]) -> Numbers:
    """Return the integers that words of a ring stand for."""
    return words.astype(f"i{words.dtype.itemsize}").astype(np.int64)


def advanced(
    costs: Numbers, starts: NDArray[np.intp], *, batches: list[int], lag: int, nodes: int
) -> tuple[PartiesRun[AssignmentState], AssignmentShape]:
    """Run batches of iterations on shares; each weighting has its own costs and start."""
    shape = AssignmentShape(costs.shape[1], int(costs.max()), len(costs))
    ties = Ties(5, range(len(costs)))
    dealt = deal(costs.astype(shape.word), nodes=nodes)

    async def node(session: Session) -> AssignmentState:
        own = dealt[session.me]
        matched, matching = public_matching(session, starts, shape)
        state = await iterations.start(session, matched, matching, own, shape, ties)
        for batch in batches:
            state = await iterations.advance(
                session, state, own, shape, ties, iterations=batch, lag=lag
            )
        return state

    return run_parties(node, nodes=nodes), shape


def check_state(run: PartiesRun[AssignmentState], weighting: int, clear: ClearState) -> None:
    size = len(clear.prices)
    index, edges = np.arange(size), np.zeros((size, size), dtype=np.uint8)
    children = index[clear.parents != index]
    edges[children, clear.parents[children]] = 1
    matched = reconstruct([each.matched for each in run.results])[weighting]
    assert matched.argmax(axis=1).tolist() == clear.row_of.tolist()
    assert (reconstruct([each.matching for each in run.results])[weighting] == matched).all()
    prices = signed(reconstruct([each.prices for each in run.results])[weighting])
    assert prices.tolist() == clear.prices.tolist()
    assert (reconstruct([each.parents for each in run.results])[weighting] == edges).all()


@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("size", [1, 2, 3, 9, 14])
def test_shares_and_twin_agree_after_every_batch(size: int, lag: int, nodes: int) -> None:
    rng = np.random.default_rng(size)
    costs = np.stack([FAMILIES["uniform"](size, 1), FAMILIES["few_values"](size, 2)])
    starts = np.stack([rng.permutation(size) for _ in costs])
    batches = [3, 1, 2]
    run, shape = advanced(costs, starts, batches=batches, lag=lag, nodes=nodes)
    for weighting, each in enumerate(costs):
        clear = ClearAssignment(each, Ties(5, (weighting,)), lag)
        check_state(run, weighting, clear.advance(clear.start(starts[weighting]), sum(batches)))
    declared = iterations.cost_of_start(nodes, shape)
    for batch in batches:
        declared = declared.then(iterations.cost(nodes, shape, iterations=batch, lag=lag))
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


def test_rounds_of_an_iteration_with_100_columns() -> None:
    shape = AssignmentShape(100, spread=1000)
    rounds = [
        iterations.cost(3, shape, iterations=11, lag=lag).rounds
        - iterations.cost(3, shape, iterations=1, lag=lag).rounds
        for lag in (0, 1)
    ]
    assert rounds == [280, 140]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13, 20])
def test_the_polynomial_finds_all_columns_on_cycles(size: int) -> None:
    rng = np.random.default_rng(size)
    index = np.arange(size)
    chosen = np.stack([rng.integers(0, size, size) for _ in range(12)] + [np.roll(index, 1)])
    edges = np.eye(size, dtype=np.uint8)[chosen]
    edges[:, index, index] = 0
    rows = np.eye(size, dtype=np.uint8)[np.stack([rng.permutation(size) for _ in chosen])]
    parents, matched = deal_bits(edges), deal_bits(rows)
    run = run_parties(
        lambda s: polynomial.on_cycles(s, parents[s.me], matched[s.me], label="cycles")
    )
    found = reconstruct([each for each, _ in run.results])
    assert (found == np.stack([on_cycles(each) for each in chosen])).all()
    taken = reconstruct([each for _, each in run.results])
    assert (taken == np.matmul(edges, rows) % 2).all()
    declared = polynomial.cost(3, len(chosen), size)
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


def test_coefficients_of_the_multiples_of_each_length_add_up_to_one() -> None:
    for size in (1, 2, 7, 64, 100, 333):
        f = polynomial.coefficients(size)
        assert all(sum(f[length::length]) % 2 == 1 for length in range(1, size + 1))


def finished(
    costs: Numbers, layout: Layout, start: NDArray[np.intp], *, count: int, nodes: int = 3
) -> tuple[PartiesRun[Answer], AssignmentShape]:
    """Run iterations on shares of a problem's own costs, rows x columns, then finish."""
    shape, ties, steps = layout.shape(), Ties(5), ladder(10, layout.rows * layout.spread)
    dealt = deal(costs[None].astype(np.uint64), nodes=nodes)

    async def node(session: Session) -> Answer:
        own = layout.costs(dealt[session.me], [(0, layout.spread)], shape)
        matched, matching = public_matching(session, start[None], shape)
        state = await iterations.start(session, matched, matching, own, shape, ties)
        state = await iterations.advance(session, state, own, shape, ties, iterations=count)
        return await outcome.finish(session, state, own, layout, shape, ties, steps=steps)

    return run_parties(node, nodes=nodes), shape


@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize("count", [0, 2, 12])
def test_plan_outcome_and_gap_are_those_of_the_twin(count: int, nodes: int) -> None:
    costs, start = FAMILIES["uniform"](8, 3), np.random.default_rng(1).permutation(8)
    layout = Layout(8, range(8), 1000)
    run, shape = finished(costs, layout, start, count=count, nodes=nodes)
    clear = ClearAssignment(costs, Ties(5))
    state = clear.advance(clear.start(start), count)
    said, *plan = reconstruct([each.plan for each in run.results])[0].tolist()
    gap = clear.gap(state)
    assert Outcome(said) is (Outcome.FEASIBLE if gap else Outcome.OPTIMUM)
    assert plan == state.column_of.tolist()
    bound = signed(reconstruct([each.bound for each in run.results])[0])
    assert bound.tolist() == [1, clear.total(state), gap]
    rung = int(reconstruct([each.rung for each in run.results])[0, 0])
    assert rung == rung_of(gap, ladder(10, 8000))
    declared = iterations.cost_of_start(nodes, shape)
    declared = declared.then(iterations.cost(nodes, shape, iterations=count))
    declared = declared.then(outcome.cost(nodes, layout, shape, steps=ladder(10, 8000)))
    assert (run.rounds, run.sent) == (declared.rounds, declared.sent)


def test_capacities_and_forbidden_pairs() -> None:
    """Two rows share column 0, which has a capacity of 2; row 0 must not have column 1."""
    costs = np.array([[3, 0], [4, 9], [5, 1]])
    forbidden = np.array([[False, True], [False, False], [False, False]])
    layout = Layout(3, (0, 0, 1), 9, forbidden)
    run, _ = finished(costs, layout, np.array([2, 0, 1]), count=8)
    said, *plan = reconstruct([each.plan for each in run.results])[0].tolist()
    assert (Outcome(said), plan) == (Outcome.OPTIMUM, [0, 0, 1])


@pytest.mark.parametrize(("count", "outcome_is"), [(0, Outcome.NONE), (9, Outcome.INFEASIBLE)])
def test_a_plan_with_a_forbidden_pair_is_never_opened(count: int, outcome_is: Outcome) -> None:
    forbidden = np.array([[False, True, True], [False, True, True], [False, False, False]])
    costs = np.arange(9).reshape(3, 3)
    run, _ = finished(costs, Layout(3, range(3), 9, forbidden), np.array([2, 1, 0]), count=count)
    said, *plan = reconstruct([each.plan for each in run.results])[0].tolist()
    assert (Outcome(said), plan) == (outcome_is, [0, 0, 0])


def test_a_proof_does_not_rest_on_the_prices() -> None:
    """Whatever the prices are, a plan that is not the optimum is not called one."""
    rng = np.random.default_rng(4)
    costs = FAMILIES["few_values"](5, 4)
    layout, shape = Layout(5, range(5), 2), AssignmentShape(5, 2)
    best = min(costs[list(p), range(5)].sum() for p in permutations(range(5)))
    dealt = deal(costs[None].astype(shape.word))
    for seed in range(12):
        start, prices = rng.permutation(5), deal(rng.integers(0, 3, (1, 5)).astype(shape.word))

        async def node(session: Session) -> Answer:
            matched, matching = public_matching(session, start[None], shape)  # noqa: B023
            own = dealt[session.me]
            state = await iterations.start(session, matched, matching, own, shape, Ties(5))
            state = replace(state, prices=prices[session.me])  # noqa: B023
            return await outcome.finish(session, state, own, layout, shape, Ties(5))

        said = int(reconstruct([each.plan for each in run_parties(node).results])[0, 0])
        optimal = costs[np.argsort(start), range(5)].sum() == best
        assert optimal or Outcome(said) is Outcome.FEASIBLE, seed
