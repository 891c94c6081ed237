"""Block descent: never worse, at the bounds of its keys, and nothing but the plan changes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.assignment import descent
from tacit.mpc.assignment.clear import ClearAssignment
from tacit.mpc.assignment.minima import Ties
from tacit.mpc.cost import Cost
from tacit.mpc.shares import reconstruct
from tests.mpc.assignment import hard_costs
from tests.mpc.assignment.problems import FAMILIES, Asked
from tests.mpc.assignment.test_shares import check
from tests.mpc.both import three_and_four


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([*FAMILIES, *hard_costs.FAMILIES]),
    seed=st.integers(0, 10**6),
    rows=st.integers(4, 24),
)
def test_a_plan_never_gets_worse_and_stays_one(name: str, seed: int, rows: int) -> None:
    if name in FAMILIES:
        asked = Asked.family(name, seed, rows, generations=6)
    else:
        asked = Asked.square(hard_costs.FAMILIES[name](rows, seed), generations=6)
    size = asked.layout.size
    first = asked.start or np.random.default_rng(seed).permutation(size)
    states = asked.clear(0, list(first), [1] * 6)
    totals = [asked.twin(0).total(state) for state in states]
    assert totals == sorted(totals, reverse=True)
    cells = asked.layout.forbidden_cells
    for state in states:
        assert sorted(state.column_of) == list(range(size))
        assert asked.start is None or not cells[np.arange(size), state.column_of].any()


def test_few_generations_are_worth_many_iterations() -> None:
    for name in ("low-rank", "rank-one", "ties"):
        asked = Asked.family(name, 1, 60, generations=20)
        first = np.random.default_rng(1).permutation(60)
        start, fallen = asked.clear(0, list(first), [20])
        best, twin = asked.optimum(), asked.twin(0)
        lacks = [twin.total(state) - best for state in (start, fallen)]
        assert lacks[1] < lacks[0] / 5, name


FAR_APART = 11
"""Six times this is a little more than a power of 2, so a bit less would not do."""


def far_apart() -> Asked:
    """Three rows can lose all that there is, and three others gain it."""
    costs = np.zeros((6, 6), dtype=np.int64)
    costs[:3, :3] = FAR_APART
    costs[np.arange(3), np.arange(3)] = 0
    costs[np.arange(3, 6), np.arange(3, 6)] = FAR_APART
    return Asked.square(costs, start=tuple(range(6)), generations=2)


def test_the_bound_of_the_keys_is_attained() -> None:
    asked = far_apart()
    (step,) = asked.moves(0, 1)
    costs, (block,) = asked.clear_costs(0), step.moves.positions
    flat = costs[np.ix_(block, block)].T.reshape(-1)
    change = flat[step.moves.plus].sum(1) - flat[step.moves.minus].sum(1)
    assert np.ptp(change) == 6 * FAR_APART
    keys = change * step.factor + step.offsets
    assert len(set(keys)) == len(keys)
    assert (1 << step.bits - 2) < np.ptp(keys) < (1 << step.bits - 1)


@three_and_four
def test_children_as_far_apart_as_can_be_are_told_apart(nodes: int) -> None:
    check(far_apart(), [2], nodes=nodes)


def test_prices_and_parents_stay() -> None:
    asked = Asked.family("ap", 1, 9, generations=3)
    before, after = (asked.on_shares([3]).states(batch) for batch in (0, 1))
    for name in ("prices", "parents"):
        first, last = ([getattr(state, name) for state in held] for held in (before, after))
        assert np.array_equal(reconstruct(first), reconstruct(last))


@pytest.mark.parametrize("rows", [1, 2, 3, 19, 40])
def test_blocks_of_any_size_and_zero_rows(rows: int) -> None:
    rng = np.random.default_rng(rows)
    weights = rng.integers(0, 50, (1, rows, rows + 3))
    layout = Asked.square(rng.integers(0, 50, (rows + 3, rows + 3))).layout
    layout = type(layout)(rows, range(rows + 3), 49)
    check(Asked(weights, layout, generations=2), [2, 1])


def test_no_generation_costs_nothing() -> None:
    asked = Asked.family("ap", 1, 6)
    assert asked.declared(3, [0]).rounds < asked.declared(3, [1]).rounds
    moves = asked.descent.generation(1)
    free = descent.cost_of_generations(3, asked.shape, moves, bits=asked.descent.key_bits, count=0)
    assert (free.rounds, free.sent) == (Cost.free(3).rounds, Cost.free(3).sent)


def test_a_descent_comes_before_the_iterations_and_they_go_on_from_its_plan() -> None:
    asked = Asked.family("euclidean", 3, 30, generations=10)
    first = np.random.default_rng(1).permutation(30)
    _, fallen, ended = asked.clear(0, list(first), [10, 60])
    twin = ClearAssignment(asked.clear_costs(0), Ties(asked.seed, (0,)))
    assert fallen.prices.tolist() == asked.clear_costs(0).min(axis=0).tolist()
    assert twin.gap(ended) == 0
