"""Negative-cycle cancelling over the integers: never worse, right when it says so, and it ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from tacit.mpc.assignment.clear import ClearAssignment, ClearState, Indices, Numbers, on_cycles
from tacit.mpc.assignment.ties import Ties
from tests.mpc.assignment.hard_costs import FAMILIES, cyclic

PER_PLACE = 4
"""Iterations for each column after which every family is proved."""


def optimum(costs: Numbers) -> int:
    rows, columns = linear_sum_assignment(costs)
    return int(costs[rows, columns].sum())


def iterations_to_proof(run: ClearAssignment, start: Indices, most: int) -> int | None:
    """Return after how many iterations a plan is proved, checking every step on the way."""
    state, least = run.start(start), optimum(run.costs)
    for number in range(most + 1):
        total, gap = run.total(state), run.gap(state)
        assert sorted(state.row_of) == list(range(len(run.costs)))
        assert least <= total <= least + gap
        if gap == 0:
            return number
        state = run.advance(state, 1)
        assert run.total(state) <= total
    return None


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("size", [1, 2, 7, 24])
def test_every_family_is_proved_and_no_step_makes_a_plan_worse(
    family: str, size: int, lag: int
) -> None:
    for seed in range(3):
        start = np.random.default_rng(seed).permutation(size)
        run = ClearAssignment(FAMILIES[family](size, seed), Ties(seed), lag)
        assert iterations_to_proof(run, start, PER_PLACE * size + 4) is not None


@given(
    size=st.integers(1, 7),
    high=st.sampled_from([0, 1, 3, 50]),
    seed=st.integers(0, 2**32 - 1),
    lag=st.integers(0, 1),
)
def test_small_problems(size: int, high: int, seed: int, lag: int) -> None:
    rng = np.random.default_rng(seed)
    run = ClearAssignment(rng.integers(0, high + 1, (size, size)), Ties(seed), lag)
    assert iterations_to_proof(run, rng.permutation(size), 20 * size) is not None


@dataclass(frozen=True, slots=True)
class OwnLast(ClearAssignment):
    """Weakened: a column prefers itself last among equals, and parents are not kept."""

    def _iterate(self, state: ClearState) -> ClearState:
        size, rows = len(self.costs), self.costs[state.row_of]
        candidates = (rows + (state.prices - np.diagonal(rows))[:, None]).T
        least = candidates.min(axis=1)
        ties = self.ties.drawn(state.iterations + 1, size)[0]
        ties[np.arange(size), np.arange(size)] = size
        parents = np.where(candidates == least[:, None], ties, size + 1).argmin(axis=1)
        moved = on_cycles(parents)
        row_of = np.where(moved, state.row_of[parents], state.row_of)
        return ClearState(row_of, least, state.parents, state.iterations + 1)


def test_without_kept_parents_it_does_not_end() -> None:
    """Cycles of cost 0 hide the one that is worth something, for ever."""
    costs, unproved = cyclic(40, 0), 0
    for seed in range(4):
        start = np.random.default_rng(seed).permutation(40)
        assert iterations_to_proof(ClearAssignment(costs, Ties(seed)), start, 80) is not None
        weak = OwnLast(costs, Ties(seed))
        unproved += weak.gap(weak.advance(weak.start(start), 1200)) > 0
    assert unproved >= 2


@dataclass(frozen=True, slots=True)
class Uncut(ClearAssignment):
    """Weakened: edges at moved columns stay."""

    def _iterate(self, state: ClearState) -> ClearState:
        index, number = np.arange(len(self.costs)), state.iterations + 1
        prices, source = self._step(state, number)
        parents = np.where(source == index, state.parents, source)
        used = state.parents if self.lag else parents
        moved = on_cycles(used)
        row_of = np.where(moved, state.row_of[used], state.row_of)
        return ClearState(row_of, prices, parents, number)


@pytest.mark.parametrize("lag", [0, 1])
def test_without_the_cut_plans_get_worse(lag: int) -> None:
    worse = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        run = Uncut(rng.integers(0, 50, (12, 12)), Ties(seed), lag)
        state = run.start(rng.permutation(12))
        for _ in range(24):
            after = run.advance(state, 1)
            worse += run.total(after) > run.total(state)
            state = after
    assert worse


@dataclass(frozen=True, slots=True)
class HalfCut(ClearAssignment):
    """Weakened: only edges that end at a moved column are cut, also those of the step between."""

    def _iterate(self, state: ClearState) -> ClearState:
        index, number = np.arange(len(self.costs)), state.iterations + 1
        prices, source = self._step(state, number)
        parents = np.where(source == index, state.parents, source)
        used = state.parents if self.lag else parents
        moved = on_cycles(used)
        row_of = np.where(moved, state.row_of[used], state.row_of)
        return ClearState(row_of, prices, np.where(moved[parents], index, parents), number)


def test_with_lag_0_the_end_of_an_edge_is_enough_to_cut() -> None:
    """The parent of a column on a cycle is on the cycle: the protocol saves a product."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        costs, start = rng.integers(0, 50, (12, 12)), rng.permutation(12)
        both, one = ClearAssignment(costs, Ties(seed)), HalfCut(costs, Ties(seed))
        left, right = both.start(start), one.start(start)
        for _ in range(20):
            left, right = both.advance(left, 1), one.advance(right, 1)
            assert left.parents.tolist() == right.parents.tolist()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("lag", [0, 1])
def test_prices_stay_within_the_largest_cost_and_candidates_within_three_times(
    family: str, lag: int
) -> None:
    costs = FAMILIES[family](16, 5)
    costs = costs - costs.min()
    largest = int(costs.max())
    run = ClearAssignment(costs, Ties(5), lag)
    state = run.start(np.random.default_rng(5).permutation(16))
    for _ in range(40):
        rows = costs[state.row_of]
        candidates = (rows + (state.prices - np.diagonal(rows))[:, None]).T
        assert np.ptp(state.prices) <= largest
        assert np.ptp(candidates, axis=1).max() <= 3 * largest
        state = run.advance(state, 1)


@given(st.lists(st.integers(0, 11), min_size=1, max_size=12))
def test_columns_on_cycles(parents: list[int]) -> None:
    wanted = []
    for column in range(len(parents)):
        at, seen = parents[column] % len(parents), 0
        while at != column and seen <= len(parents):
            at, seen = parents[at] % len(parents), seen + 1
        wanted.append(at == column and parents[column] % len(parents) != column)
    found = on_cycles(np.array(parents) % len(parents))
    assert found.tolist() == wanted
