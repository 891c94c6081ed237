"""Bounds of prices and keys, and tie-breaks, in the clear: what widths and secrecy rest on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.assignment import AssignmentShape
from tacit.mpc.assignment.clear import ClearAssignment, ClearState, Numbers
from tacit.mpc.assignment.minima import FIRST_PRICES, PROOF, Ties
from tests.mpc.assignment.hard_costs import FAMILIES


def check_bounds(
    costs: Numbers, state: ClearState, number: int, seed: int, shape: AssignmentShape | None = None
) -> int:
    """Check what keys rest on; return how far candidates of a column are apart."""
    largest = int(costs.max() - costs.min())
    shape = shape or AssignmentShape(len(costs), largest)
    paid = np.empty(shape.size, dtype=np.int64)
    paid[state.row_of] = costs[state.row_of, np.arange(shape.size)] - state.prices
    offers, apart = (costs.T - paid), 0
    ties = shape.placed(Ties(seed).drawn(number, shape) + 1)[0]
    for column in range(shape.size):
        allowed = slice(None) if shape.allowed is None else shape.allowed[column]
        found = np.append(offers[column][allowed], state.prices[column])
        apart = max(apart, int(np.ptp(found)))
        keys = (found << shape.tie_bits) + np.append(ties[column][allowed], 0)
        assert np.ptp(keys) < 1 << shape.key_bits - 1
        assert len(set(keys.tolist())) == len(keys)
    assert apart <= shape.widest
    return apart


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("lag", [0, 1])
def test_prices_stay_within_the_largest_cost_and_candidates_within_three_times(
    family: str, lag: int
) -> None:
    costs = FAMILIES[family](16, 5)
    run = ClearAssignment(costs, Ties(5), lag)
    state = run.start(np.random.default_rng(5).permutation(16))
    for number in range(40):
        check_bounds(costs, state, number + 1, 5)
        state = run.advance(state, 1)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 9),
    largest=st.sampled_from([0, 1, 2, 1000, 10**9]),
    middle=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_bounds_hold_for_extreme_costs_whatever_the_matchings_are(
    size: int, largest: int, middle: bool, seed: int
) -> None:
    """Not only for those that the method comes to: an attacker may not be honest about those."""
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 2, (size, size)) * largest
    if middle:
        costs = np.where(rng.random((size, size)) < 0.3, largest // 2, costs)
    run = ClearAssignment(costs, Ties(seed))
    state = run.start(rng.permutation(size))
    for number in range(12):
        check_bounds(costs, state, number + 1, seed)
        state = run.advance(state, 1)
        state = ClearState(rng.permutation(size), state.prices, state.parents, state.step)


def test_the_bound_of_candidates_is_attained() -> None:
    """A column with the highest price on a free pair, one with the lowest on the dearest."""
    costs = np.array([[0, 9, 9], [0, 0, 9], [0, 9, 0]])
    found = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        costs = rng.integers(0, 2, (3, 3)) * 9
        run = ClearAssignment(costs, Ties(seed))
        state = run.start(rng.permutation(3))
        for number in range(6):
            if np.ptp(costs):
                found.append(check_bounds(costs, state, number + 1, seed))
            state = run.advance(state, 1)
            state = ClearState(rng.permutation(3), state.prices, state.parents, state.step)
    assert max(found) == 27


def test_key_bits_are_as_proved() -> None:
    assert AssignmentShape(100, 1000).key_bits == 1 + 7 + 12
    assert AssignmentShape(100, 1000).word == np.uint32
    assert AssignmentShape(128, 1000).tie_bits == 8
    assert AssignmentShape(127, 1000).tie_bits == 7
    allowed = np.eye(100, dtype=bool)
    allowed[0] = True
    shape = AssignmentShape(100, 1000, iterations=60, allowed=allowed)
    assert (shape.widest, shape.tie_bits) == (63 * 1000, 7)


@given(
    size=st.integers(1, 40),
    seed=st.integers(0, 10**9),
    number=st.integers(-1, 10**6),
    part=st.sampled_from([0.1, 0.5, 1.0]),
)
def test_ties_of_a_column_are_distinct(size: int, seed: int, number: int, part: float) -> None:
    allowed = np.random.default_rng(seed).random((size, size)) < part
    shape = AssignmentShape(size, 1, allowed=allowed | np.eye(size, dtype=bool))
    for line in Ties(seed, (0, 3)).drawn(number, shape):
        # With 0 for the column's own price they all fit the bits of ties.
        assert (line + 1).max() < 1 << shape.tie_bits
        for column in range(size):
            first = int(shape.starts[column])
            ties = line[first : first + int(shape.rows_of[column])]
            assert sorted(ties) == list(range(len(ties)))


def test_ties_are_those_of_the_seed_the_weighting_and_the_iteration_alone() -> None:
    shape = AssignmentShape(9, 1)
    one = Ties(7, (2,)).drawn(5, shape)[0]
    assert np.array_equal(Ties(7, (0, 2)).drawn(5, shape)[1], one)
    others = [Ties(8, (2,)).drawn(5, shape), Ties(7, (1,)).drawn(5, shape)]
    others += [Ties(7, (2,)).drawn(number, shape) for number in (6, FIRST_PRICES, PROOF)]
    assert not any(np.array_equal(other[0], one) for other in others)


@pytest.mark.parametrize("lag", [0, 1])
def test_with_forbidden_pairs_candidates_are_within_one_cost_more_for_each_step(lag: int) -> None:
    """A chain of columns that can only follow each other, and dense ones that fall fast."""
    widest = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        allowed = (rng.random((12, 12)) < 0.2) | np.eye(12, dtype=bool)
        costs = rng.integers(0, 2, (12, 12)) * 50
        run = ClearAssignment(costs, Ties(seed), lag, allowed)
        state = run.start(range(12))
        for number in range(24):
            shape = AssignmentShape(12, 50, iterations=number, allowed=allowed)
            widest = max(widest, check_bounds(costs, state, number + 1, seed, shape))
            state = run.advance(state, 1)
    assert widest > 3 * 50
