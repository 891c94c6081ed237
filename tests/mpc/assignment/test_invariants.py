"""Bounds of prices and keys, in the clear: what widths and secrecy rest on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.assignment import AssignmentShape
from tacit.mpc.assignment.clear import ClearAssignment, ClearState, Numbers
from tacit.mpc.assignment.ties import FIRST_PRICES, PROOF, Ties
from tests.mpc.assignment.hard_costs import FAMILIES


def candidates(costs: Numbers, state: ClearState) -> Numbers:
    """Return what the columns compare: a line for each."""
    rows = costs[state.row_of]
    made: Numbers = (rows + (state.prices - np.diagonal(rows))[:, None]).T
    return made


def check_bounds(costs: Numbers, state: ClearState, number: int, seed: int) -> int:
    """Check what keys rest on; return how far candidates of a column are apart."""
    size, largest = len(costs), int(costs.max() - costs.min())
    shape = AssignmentShape(size, largest)
    found = candidates(costs, state)
    apart = int(np.ptp(found, axis=1).max())
    assert np.ptp(state.prices) <= largest
    assert apart <= 3 * largest
    keys = (found << shape.tie_bits) + Ties(seed).own_first(number, size)[0]
    assert np.ptp(keys, axis=1).max() < 1 << shape.key_bits - 1
    assert all(len(set(line)) == size for line in keys.tolist())
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
    assert AssignmentShape(100, 100 * 100_000 + 1).word == np.uint64


@given(size=st.integers(1, 40), seed=st.integers(0, 10**9), number=st.integers(-1, 10**6))
def test_ties_are_distinct_and_a_column_prefers_itself(size: int, seed: int, number: int) -> None:
    own = Ties(seed, (0, 3)).own_first(number, size)
    drawn = Ties(seed, (0, 3)).drawn(number, size)
    assert own.max() < 1 << AssignmentShape(size, 1).tie_bits
    for each in (*own, *drawn):
        assert all(len(set(line)) == size for line in each.tolist())
    assert not own[:, np.arange(size), np.arange(size)].any()


def test_ties_are_those_of_the_seed_the_weighting_and_the_iteration_alone() -> None:
    one = Ties(7, (2,)).drawn(5, 9)[0]
    assert np.array_equal(Ties(7, (0, 2)).drawn(5, 9)[1], one)
    others = [Ties(8, (2,)).drawn(5, 9), Ties(7, (1,)).drawn(5, 9), Ties(7, (2,)).drawn(6, 9)]
    others += [Ties(7, (2,)).drawn(number, 9) for number in (FIRST_PRICES, PROOF)]
    assert not any(np.array_equal(other[0], one) for other in others)
