"""The sealed forest on shares: the clear one byte for byte, at the declared cost, and SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tacit.errors import ParameterError
from tacit.mpc.forest import (
    ClearForest,
    Coins,
    Layout,
    Outcome,
    advance,
    checked,
    finish_in_the_clear,
    plain,
    scaled,
    start,
)
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare, reconstruct
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.forest.families import FAMILIES, family
from tests.mpc.forest.problems import Problem, in_ring, opened


def problem(
    name: str, seed: int, size: int, *, count: int, scaling: bool = False, weightings: int = 1
) -> Problem:
    costs, forbidden, columns = family(name, seed, size)
    more = [np.roll(costs, k, axis=0) for k in range(weightings)]
    places = costs.shape[1] if columns is None else len(columns)
    high = int(costs.max())
    schedule = scaled(places, high, count) if scaling else plain(places, count)
    return Problem(np.stack(more), schedule, forbidden, columns, seed=seed)


def check_shares(asked: Problem, nodes: int) -> None:
    """Nodes have the state and the answer of the clear forest, at the declared cost."""
    run = asked.on_shares(nodes)
    states, answers = zip(*run.results, strict=True)
    plans, bounds = opened([a.plan for a in answers]), opened([a.bound for a in answers])
    for k in range(asked.shape.weightings):
        state, answer = asked.clear(k)
        size = asked.shape.size
        matched = np.zeros((size, size), dtype=np.uint8)
        rows = np.flatnonzero(state.column_of >= 0)
        matched[state.column_of[rows], rows] = 1
        assert np.array_equal(reconstruct([s.matched for s in states])[k], matched)
        assert np.array_equal(reconstruct([s.matching for s in states])[k], matched)
        for name in ("prices", "profits", "kept"):
            share = reconstruct([getattr(s, name) for s in states])[k]
            assert np.array_equal(share, in_ring(getattr(state, name), asked.shape)), name
        assert plans[k].tolist() == [answer.outcome, *answer.plan]
        feasible = int(answer.outcome >= Outcome.FEASIBLE)
        assert bounds[k].tolist() == [feasible, answer.total, answer.gap]
    check_cost(run, asked.declared(nodes))


@pytest.mark.parametrize("name", FAMILIES)
def test_nodes_find_what_the_clear_forest_finds(name: str) -> None:
    check_shares(problem(name, 3, 6, count=3), 3)


@pytest.mark.parametrize(
    ("name", "size", "count", "scaling"),
    [("uniform", 1, 2, False), ("ties", 2, 2, False), ("late slots", 5, 3, False)],
)
def test_four_nodes_find_it_too(name: str, size: int, count: int, scaling: bool) -> None:
    check_shares(problem(name, 4, size, count=count, scaling=scaling), 4)


@three_and_four
def test_epsilon_falls_on_shares(nodes: int) -> None:
    costs, _, _ = family("rank one", 1, 5)
    schedule = checked([1, 3, 3, 2], [25, 25, 5, 1], size=5)
    check_shares(Problem(costs[None], schedule), nodes)


def test_weightings_go_in_the_same_messages() -> None:
    one = problem("uniform", 2, 5, count=3)
    three = problem("uniform", 2, 5, count=3, weightings=3)
    check_shares(three, 3)
    assert three.declared(3).rounds == one.declared(3).rounds
    assert three.clear(0)[1].plan.tolist() == one.clear(0)[1].plan.tolist()


def test_costs_that_need_the_wide_ring() -> None:
    costs = np.random.default_rng(1).integers(0, 10**9, (1, 4, 4))
    asked = Problem(costs, plain(4, 4))
    assert asked.shape.word == np.uint64
    check_shares(asked, 3)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(FAMILIES),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 12),
    scaling=st.booleans(),
    count=st.integers(1, 14),
)
def test_what_is_proved_is_so(name: str, seed: int, size: int, scaling: bool, count: int) -> None:
    asked = problem(name, seed, size, count=count, scaling=scaling)
    _, answer = asked.clear()
    best = asked.optimum()
    if answer.outcome is Outcome.OPTIMUM:
        assert asked.value(answer.plan) == best == answer.total // asked.shape.scale
    elif answer.outcome is Outcome.INFEASIBLE:
        assert best is None
    elif answer.outcome is Outcome.FEASIBLE:
        assert best is not None
        value = asked.value(answer.plan)
        assert value * asked.shape.scale == answer.total
        assert best <= value <= best + answer.gap / asked.shape.scale
    if answer.outcome < Outcome.FEASIBLE:
        assert not answer.plan.any()
    else:
        places = list(asked.layout.columns)
        assert all(list(answer.plan).count(c) <= places.count(c) for c in set(places))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_long_schedule_proves_the_optimum(name: str) -> None:
    for seed in range(3):
        _, answer = problem(name, seed, 10, count=30).clear()
        wanted = Outcome.INFEASIBLE if name == "infeasible" else Outcome.OPTIMUM
        assert answer.outcome is wanted


def test_phases_may_be_done_in_sessions_of_their_own() -> None:
    asked = problem("uniform", 3, 5, count=3)
    dealt = deal_integers(asked.weights)
    costs = [asked.shared_costs(share) for share in dealt]
    states = run_parties(lambda s: start(s, costs[s.me], asked.shape, asked.coins)).results
    for phase in asked.schedule:
        before = states
        for _ in range(2):  # the second time as after a crash
            states = run_parties(
                lambda s: advance(s, before[s.me], costs[s.me], [phase], asked.shape, asked.coins)  # noqa: B023
            ).results
    state, _ = asked.clear()
    prices = reconstruct([s.prices for s in states])[0]
    assert np.array_equal(prices, in_ring(state.prices, asked.shape))


def test_layouts_with_more_rows_than_places_are_refused() -> None:
    with pytest.raises(ParameterError, match="3 rows do not fit 2 places"):
        Layout(3, range(2), 9)


def test_the_largest_weights_may_be_wanted() -> None:
    weights = np.random.default_rng(2).integers(-20, 21, (1, 5, 5))
    layout = Layout(5, range(5), 40)
    shape = layout.shape()
    share = ArithmeticShare({0: to_ring(weights)})
    costs = layout.costs(share, [(-20, 20)], shape, maximize=True).parts[0][0].astype(np.int64)
    forest = ClearForest(costs, shape, Coins(1))
    state = forest.advance(forest.start(), plain(5, 12))
    answer = finish_in_the_clear(state, costs, layout, shape)
    rows, columns = linear_sum_assignment(weights[0], maximize=True)
    assert answer.outcome is Outcome.OPTIMUM
    assert weights[0][np.arange(5), answer.plan].sum() == weights[0][rows, columns].sum()


@pytest.mark.slow
def test_100_rows_are_proved_within_2300_rounds() -> None:
    costs = np.random.default_rng(1).integers(0, 1001, (1, 100, 100))
    asked = Problem(costs, plain(100, 12))
    run = asked.on_shares()
    outcome, *plan = opened([answer.plan for _, answer in run.results])[0]
    assert outcome == Outcome.OPTIMUM
    assert asked.value(np.array(plan)) == asked.optimum()
    check_cost(run, asked.declared(3))
    assert run.rounds <= 2_300
    assert max(run.sent) <= 90_000_000
