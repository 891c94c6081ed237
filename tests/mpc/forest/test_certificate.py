"""What is proved is so, whatever matching and duals the proof is given."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.errors import ParameterError
from tacit.mpc.forest import ClearForest, Coins, ForestShape, ForestState, Outcome, plain
from tacit.mpc.forest.certificate import prove
from tacit.mpc.local import run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, deal, reconstruct
from tests.mpc.both import three_and_four
from tests.mpc.forest.problems import in_ring
from tests.mpc.forest.test_forest import problem

SIZE, HIGH = 4, 20
SHAPE = ForestShape(SIZE, HIGH)
Numbers = NDArray[np.int64]


@dataclass
class Claim:
    """A matching, columns x rows, and duals, for scaled costs."""

    costs: Numbers
    matching: Numbers
    prices: Numbers
    profits: Numbers

    @classmethod
    def true(cls, seed: int) -> Claim:
        costs = SHAPE.scale * np.random.default_rng(seed).integers(0, HIGH + 1, (SIZE, SIZE))
        forest = ClearForest(costs, SHAPE, Coins(1))
        state = forest.advance(forest.start(), plain(SIZE, 12))
        matching = np.zeros((SIZE, SIZE), dtype=np.int64)
        matching[state.column_of, np.arange(SIZE)] = 1
        return cls(costs, matching, state.prices, state.profits)

    def bits(self, nodes: int = 3) -> list[int]:
        """Whether it is proved, feasible, and bounded."""
        arrays = (self.costs, self.matching, self.prices, self.profits)
        dealt = [deal(in_ring(x, SHAPE)[None], nodes=nodes) for x in arrays]
        allowed = np.zeros((SIZE, SIZE), dtype=bool)

        async def node(s: Session) -> ArithmeticShare:
            costs, matching, prices, profits = (x[s.me] for x in dealt)
            state = ForestState(None, matching, prices, profits, None)  # type: ignore[arg-type]
            found = await prove(s, costs, matching, state, allowed, SHAPE)
            return found.optimal, found.feasible, found.bounded  # type: ignore[return-value]

        shares = zip(*run_parties(node, nodes=nodes).results, strict=True)
        return [int(reconstruct(share)[0]) for share in shares]


@three_and_four
def test_a_true_claim_is_proved(nodes: int) -> None:
    assert Claim.true(0).bits(nodes) == [1, 1, 1]


def test_each_condition_is_needed() -> None:
    claim = Claim.true(1)
    two = claim.matching.copy()
    two[:, 0] = two[:, 1]  # a column with two rows, and one with none
    assert replace(claim, matching=two).bits()[:2] == [0, 0]
    nothing = claim.matching.copy()
    nothing[:, 0] = 0
    assert replace(claim, matching=nothing).bits()[:2] == [0, 0]
    # Worse plans whose gap is closed by profits that are too high.
    worse = np.roll(claim.matching, 1, axis=1)
    reduced = claim.costs - claim.prices - claim.profits[:, None]
    own = (worse.T * reduced).sum(axis=1)
    assert own.sum() > SIZE
    assert replace(claim, matching=worse).bits() == [0, 1, 1]
    assert replace(claim, matching=worse, profits=claim.profits + own).bits() == [0, 1, 0]


def test_a_sum_that_wraps_around_proves_nothing() -> None:
    """Four reduced costs of a quarter of the ring are zero together."""
    claim = Claim.true(2)
    quarter = 1 << 8 * SHAPE.word.itemsize - 2
    own = (claim.matching.T * (claim.costs - claim.prices)).sum(axis=1)
    wrapped = replace(claim, profits=own - quarter)
    assert wrapped.bits() == [0, 1, 0]


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    order=st.permutations(range(SIZE)),
    change=st.lists(
        st.integers(-(2**31), 2**31 - 1) | st.integers(-90, 90), min_size=8, max_size=8
    ),
    changed=st.integers(0, 2),
)
def test_nothing_false_is_proved(
    seed: int, order: list[int], change: list[int], changed: int
) -> None:
    claim = Claim.true(seed)
    if changed:
        claim = replace(claim, matching=claim.matching[order])
    if changed < 2:
        claim = replace(
            claim,
            prices=claim.prices + np.array(change[:SIZE]),
            profits=claim.profits + np.array(change[SIZE:]),
        )
    optimal, feasible, _ = claim.bits()
    rows, columns = linear_sum_assignment(claim.costs)
    assert feasible
    if optimal:
        assert (claim.matching.T * claim.costs).sum() == claim.costs[rows, columns].sum()


@given(size=st.integers(1, 5000), spread=st.integers(0, 10**12), epsilon=st.integers(1, 10**12))
def test_sums_of_reduced_costs_fit_the_ring(size: int, spread: int, epsilon: int) -> None:
    try:
        shape = ForestShape(size, spread, epsilon)
    except ParameterError:
        return
    most = size * (2 * shape.bound + shape.bound + 1)
    assert most < 1 << 8 * shape.word.itemsize - 1


@pytest.mark.parametrize(
    ("name", "size", "count", "wanted"),
    [
        ("uniform", 4, 4, Outcome.OPTIMUM),
        ("uniform", 6, 1, Outcome.FEASIBLE),
        ("infeasible", 3, 4, Outcome.INFEASIBLE),
        ("sparse", 8, 1, Outcome.NONE),
    ],
)
def test_the_four_outcomes(name: str, size: int, count: int, wanted: Outcome) -> None:
    asked = problem(name, 1, size, count=count)
    _, answer = asked.clear()
    assert answer.outcome is wanted
    results = asked.on_shares().results
    plan = reconstruct([a.plan for _, a in results])[0].tolist()
    assert plan == [wanted, *answer.plan]
    if wanted < Outcome.FEASIBLE:
        assert not any(plan[1:])
        assert not reconstruct([a.bound for _, a in results]).any()
