"""Negative-cycle cancelling over the integers: never worse, right when it says so, and it ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.mpc.assignment.clear import ClearAssignment, ClearState, Numbers, on_cycles
from tacit.mpc.assignment.layout import Indices
from tacit.mpc.assignment.minima import Ties
from tests.mpc.assignment.hard_costs import FAMILIES

PER_PLACE = 4
"""Iterations for each column after which every family is proved."""


def optimum(costs: Numbers, allowed: NDArray[np.bool_] | None = None) -> int:
    known = costs.astype(float) if allowed is None else np.where(allowed.T, costs, np.inf)
    rows, columns = linear_sum_assignment(known)
    return int(costs[rows, columns].sum())


def iterations_to_proof(run: ClearAssignment, start: Indices, most: int) -> int | None:
    """Return after how many iterations a plan is proved, checking every step on the way."""
    state, least = run.start(start), optimum(run.costs, run.allowed)
    for number in range(most + 1):
        total, gap = run.total(state), run.gap(state)
        assert sorted(state.row_of) == list(range(len(run.costs)))
        assert least <= total <= least + gap
        if gap == 0:
            return number
        state = run.advance(state, 1)
        assert run.total(state) <= total
    return None


def test_the_sample_has_40_families() -> None:
    assert len(FAMILIES) >= 40


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_proved_and_no_step_makes_a_plan_worse(family: str, lag: int) -> None:
    for size, seeds in ((1, 1), (2, 2), (7, 3), (24, 2)):
        for seed in range(seeds):
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


@given(
    size=st.integers(2, 9),
    part=st.sampled_from([0.1, 0.3, 0.7]),
    seed=st.integers(0, 2**32 - 1),
    lag=st.integers(0, 1),
)
def test_forbidden_pairs_are_never_taken_whatever_they_cost(
    size: int, part: float, seed: int, lag: int
) -> None:
    rng = np.random.default_rng(seed)
    start = rng.permutation(size)
    allowed = rng.random((size, size)) < part
    allowed[start, np.arange(size)] = True
    costs = rng.integers(0, 20, (size, size))
    cheaper = np.where(allowed.T, costs, -(10**6))
    run = ClearAssignment(costs, Ties(seed), lag, allowed)
    assert iterations_to_proof(run, start, 20 * size) is not None
    other = ClearAssignment(cheaper, Ties(seed), lag, allowed)
    one, two = (each.advance(each.start(start), 3 * size) for each in (run, other))
    assert allowed[np.arange(size), one.row_of].all()
    assert one.row_of.tolist() == two.row_of.tolist()


@pytest.mark.parametrize("lag", [0, 1])
def test_an_optimal_plan_is_proved_within_its_columns_and_stays(lag: int) -> None:
    for family in FAMILIES:
        costs = FAMILIES[family](15, 1)
        run = ClearAssignment(costs, Ties(1), lag)
        state = run.start(linear_sum_assignment(costs)[1])
        ended = run.advance(state, 14)
        assert run.gap(ended) == 0, family
        assert run.total(ended) == optimum(costs), family


@dataclass(frozen=True)
class OwnLast(ClearAssignment):
    """Weakened: a column prefers itself last among equals, and parents are not kept."""

    def _iterate(self, state: ClearState) -> ClearState:
        offered, itself = self._offers(state)[:, state.row_of], np.arange(len(self.costs))
        others = offered + np.where(np.eye(len(itself), dtype=bool), 10**9, 0)
        least = np.minimum(others.min(axis=1), state.prices)
        ties = self.ties.drawn(state.step + 1, self._shape)[0].reshape(others.shape)
        chosen = np.where(others == least[:, None], ties, len(itself)).argmin(axis=1)
        parents = np.where((others == least[:, None]).any(axis=1), chosen, itself)
        moved = on_cycles(parents)
        row_of = np.where(moved, state.row_of[parents], state.row_of)
        return ClearState(row_of, least, state.parents, state.step + 1)


HARD = {"rotations": 40, "divisors": 40, "copies of columns": 40, "powers of two": 40}
"""Costs with so many cycles of cost 0 that they may hide the one that is worth something."""


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("family", HARD)
def test_cycles_of_cost_zero_hide_nothing_from_kept_parents(family: str, lag: int) -> None:
    size = HARD[family]
    for seed in range(3):
        start = np.random.default_rng(seed).permutation(size)
        run = ClearAssignment(FAMILIES[family](size, seed), Ties(seed), lag)
        assert iterations_to_proof(run, start, 3 * size) is not None


def test_columns_of_capacity_4_are_proved_in_less_than_an_iteration_per_place() -> None:
    rng = np.random.default_rng(3)
    costs = np.repeat(rng.integers(0, 1000, (100, 25)), 4, axis=1)
    run = ClearAssignment(costs, Ties(3))
    state = run.advance(run.start(rng.permutation(100)), 100)
    assert run.gap(state) == 0
    assert run.total(state) == optimum(costs)


def test_without_kept_parents_it_does_not_end() -> None:
    """Cycles of cost 0 hide the one that is worth something, for ever."""
    costs, unproved = FAMILIES["rotations"](40, 0), 0
    for seed in range(4):
        start = np.random.default_rng(seed).permutation(40)
        weak = OwnLast(costs, Ties(seed))
        unproved += weak.gap(weak.advance(weak.start(start), 1200)) > 0
    assert unproved >= 2


@dataclass(frozen=True)
class Uncut(ClearAssignment):
    """Weakened: edges at moved columns stay."""

    def _iterate(self, state: ClearState) -> ClearState:
        number = state.step + 1
        prices, parents = self._step(state, number)
        used = state.parents if self.lag else parents
        moved = on_cycles(used)
        row_of = np.where(moved, state.row_of[used], state.row_of)
        return ClearState(row_of, prices, parents, number)


def times_worse(kind: type[ClearAssignment], lag: int) -> int:
    """Return how often a step makes a plan worse."""
    worse = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        run = kind(rng.integers(0, 50, (12, 12)), Ties(seed), lag)
        state = run.start(rng.permutation(12))
        for _ in range(24):
            after = run.advance(state, 1)
            worse += run.total(after) > run.total(state)
            state = after
    return worse


@pytest.mark.parametrize("lag", [0, 1])
def test_without_the_cut_plans_get_worse(lag: int) -> None:
    assert times_worse(ClearAssignment, lag) == 0
    assert times_worse(Uncut, lag) > 0


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.parametrize("family", ["uniform", "three values", "rotations", "few pairs"])
def test_an_edge_bounds_its_columns_price_until_the_row_of_its_end_changes(
    family: str, lag: int
) -> None:
    """An edge that begins at a column that has moved since needs no cut."""
    costs, index = FAMILIES[family](14, 2), np.arange(14)
    run = ClearAssignment(costs, Ties(2), lag)
    state, edges = run.start(np.random.default_rng(2).permutation(14)), 0
    for _ in range(30):
        rows, ends = state.row_of[state.parents], state.parents
        bound = state.prices[ends] + costs[rows, index] - costs[rows, ends]
        assert (state.prices >= bound).all()
        edges += int((ends != index).sum())
        state = run.advance(state, 1)
    assert edges > 30


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
