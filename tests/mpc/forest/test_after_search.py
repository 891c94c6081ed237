"""The forest as the finish of a search: the clear one byte for byte, at the declared cost."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.forest import (
    Answer,
    ClearAnswer,
    ClearForest,
    ClearState,
    Coins,
    ForestState,
    Outcome,
    advance,
    cost_of_warm_start,
    finish,
    finish_in_the_clear,
    finishing,
    outcome,
    phases,
    warm_start,
    warm_start_in_the_clear,
)
from tacit.mpc.forest.after_search.clear import matching_of_plan
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, public_share, reconstruct
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.forest.families import FAMILIES, family
from tests.mpc.forest.problems import Problem, in_ring, opened

STEPS = 3


def problem(name: str, seed: int, size: int, *, count: int) -> Problem:
    costs, forbidden, columns = family(name, seed, size)
    places = costs.shape[1] if columns is None else len(columns)
    return Problem(costs[None], finishing(places, count), forbidden, columns, seed=seed)


def some_plan(asked: Problem, seed: int) -> list[int]:
    """A plan within capacities, which need not be a good one."""
    places = np.random.default_rng(seed).permutation(asked.layout.size)[: asked.layout.rows]
    return [int(asked.layout.columns[place]) for place in places]


def in_the_clear(
    asked: Problem, plan: list[int], *, steps: int = STEPS, fallback: list[int] | None = None
) -> tuple[ClearState, ClearAnswer]:
    costs = asked.clear_costs(0)
    forest = ClearForest(costs, asked.shape, Coins(asked.seed, [0]))
    state = warm_start_in_the_clear(forest, plan, asked.layout, steps=steps, fallback=fallback)
    state = forest.advance(state, asked.schedule)
    return state, finish_in_the_clear(state, costs, asked.layout, asked.shape)


def check_shares(
    asked: Problem, plan: list[int], nodes: int, fallback: list[int] | None = None
) -> None:
    """Nodes have the state and the answer of the clear forest, at the declared cost."""
    dealt = deal_integers(asked.weights, nodes=nodes)
    ids = deal_integers([plan], nodes=nodes)
    layout, shape, coins = asked.layout, asked.shape, asked.coins

    def public_matching(s: Session) -> ArithmeticShare:
        matching = np.zeros(shape.square, dtype=shape.word)
        column_of = matching_of_plan(fallback or [], layout)
        matching[:, column_of, np.arange(shape.size)] = 1
        return public_share(matching, ArithmeticShare, me=s.me, nodes=s.nodes)

    async def node(s: Session) -> tuple[ForestState, Answer]:
        costs = asked.shared_costs(dealt[s.me])
        narrow = ids[s.me].map(lambda part: part.astype(np.uint32))
        known = None if fallback is None else public_matching(s)
        state = await warm_start(
            s, narrow, costs, layout, shape, coins, steps=STEPS, fallback=known
        )
        state = await advance(s, state, costs, asked.schedule, shape, coins)
        return state, await finish(s, state, costs, layout, shape)

    run = run_parties(node, nodes=nodes, timeout=60.0)
    states, answers = zip(*run.results, strict=True)
    state, answer = in_the_clear(asked, plan, fallback=fallback)
    for name in ("prices", "profits", "kept"):
        share = reconstruct([getattr(s, name) for s in states])[0]
        assert np.array_equal(share, in_ring(getattr(state, name), shape)), name
    for name, column_of in (("matching", state.column_of), ("first", state.first)):
        assert column_of is not None
        matched = np.zeros((shape.size, shape.size), dtype=np.uint8)
        rows = np.flatnonzero(column_of >= 0)
        matched[column_of[rows], rows] = 1
        assert np.array_equal(reconstruct([getattr(s, name) for s in states])[0], matched), name
    plans, bounds = opened([a.plan for a in answers]), opened([a.bound for a in answers])
    assert plans[0].tolist() == [answer.outcome, *answer.plan]
    assert bounds[0].tolist()[1:] == [answer.total, answer.gap]
    known = fallback is not None
    declared = cost_of_warm_start(nodes, layout, shape, steps=STEPS, has_fallback=known)
    for phase in asked.schedule:
        declared = declared.then(phases.cost(nodes, phase, shape))
    check_cost(run, declared.then(outcome.cost(nodes, layout, shape, after_search=True)))


@pytest.mark.parametrize("name", FAMILIES)
def test_nodes_go_on_from_a_plan_as_the_clear_forest_does(name: str) -> None:
    asked = problem(name, 3, 5, count=1)
    check_shares(asked, some_plan(asked, 3), 3)


@pytest.mark.parametrize("better", [False, True])
def test_the_cheaper_of_two_plans_is_gone_on_from(better: bool) -> None:
    asked = Problem(np.array([[[1, 9, 9], [9, 1, 9], [9, 9, 1]]]), finishing(3, 1))
    good, bad = [0, 1, 2], [1, 2, 0]
    plan, fallback = (bad, good) if better else (good, bad)
    check_shares(asked, plan, 3, fallback)
    state, _ = in_the_clear(asked, plan, fallback=fallback)
    assert state.first is not None
    assert state.first.tolist() == good


@three_and_four
def test_capacities_take_one_place_after_the_other(nodes: int) -> None:
    costs = np.random.default_rng(6).integers(0, 100, (1, 5, 4))
    asked = Problem(costs, finishing(7, 1), columns=(0, 1, 1, 1, 2, 3, 3))
    check_shares(asked, [1, 3, 1, 0, 1], nodes)


def test_nothing_goes_free_from_the_optimum() -> None:
    for name in FAMILIES:
        if name == "infeasible":
            continue
        asked = problem(name, 2, 8, count=1)
        long = Problem(
            asked.weights, finishing(asked.shape.size, 30), asked.forbidden, asked.columns
        )
        plan = in_the_clear(long, some_plan(long, 1))[1].plan.tolist()
        costs = asked.clear_costs(0)
        forest = ClearForest(costs, asked.shape, Coins(asked.seed, [0]))
        state = warm_start_in_the_clear(forest, plan, asked.layout, steps=40)
        answer = finish_in_the_clear(state, costs, asked.layout, asked.shape)
        assert answer.outcome is Outcome.OPTIMUM, name


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(FAMILIES),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 12),
    count=st.integers(1, 14),
    steps=st.integers(0, 12),
)
def test_it_is_never_worse_than_the_plan_and_proves_only_what_is_so(
    name: str, seed: int, size: int, count: int, steps: int
) -> None:
    asked = problem(name, seed, size, count=count)
    plan = some_plan(asked, seed)
    state, answer = in_the_clear(asked, plan, steps=steps)
    best, places = asked.optimum(), asked.layout.columns
    if answer.outcome is Outcome.INFEASIBLE:
        assert best is None
    if answer.outcome >= Outcome.FEASIBLE:
        value = asked.value(answer.plan)
        assert best is not None
        assert value == best if answer.outcome is Outcome.OPTIMUM else value >= best
        assert all(list(answer.plan).count(c) <= list(places).count(c) for c in set(places))
    if asked.forbidden is None:
        assert answer.outcome >= Outcome.FEASIBLE
        assert asked.value(answer.plan) <= asked.value(np.array(plan))
    # What the bounds of the keys rest on.
    left = asked.clear_costs(0) - state.prices - state.profits[:, None]
    assert left.min() >= 0
    assert left.max() <= 2 * asked.shape.bound
    assert (left.min(axis=0) == 0).all()


def test_prices_stay_within_the_bound_while_they_are_sought() -> None:
    costs = np.array([[0, 90, 90], [90, 0, 90], [0, 0, 90]])
    asked = Problem(costs[None], finishing(3, 1))
    table = asked.clear_costs(0)
    forest = ClearForest(table, asked.shape, Coins(1, [0]))
    for steps in range(30):
        state = warm_start_in_the_clear(forest, [1, 0, 2], asked.layout, steps=steps)
        assert np.ptp(state.prices) <= asked.shape.bound


def test_an_unfinished_forest_does_not_spoil_a_plan() -> None:
    kept = 0
    for seed in range(20):
        asked = problem("uniform", seed, 12, count=1)
        long = problem("uniform", seed, 12, count=3)
        plan = in_the_clear(long, some_plan(long, seed))[1].plan.tolist()
        state, answer = in_the_clear(asked, plan, steps=1)
        assert asked.value(answer.plan) <= asked.value(np.array(plan))
        kept += answer.plan.tolist() == plan and bool((state.column_of < 0).any())
    assert kept  # sometimes the plan of before is the better one


def test_a_place_is_that_of_the_rows_rank() -> None:
    layout = Problem(np.ones((1, 3, 2), dtype=np.int64), finishing(4, 1), columns=(0, 1, 1, 1))
    assert matching_of_plan([1, 0, 1], layout.layout).tolist() == [1, 0, 2, 3]
