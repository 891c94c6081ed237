"""What is proved is so, whatever matching, prices and minimum the proof is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tacit.errors import ParameterError
from tacit.mpc.assignment import AssignmentShape, AssignmentState, Ties, certificate
from tacit.mpc.assignment.clear import ClearAssignment
from tacit.mpc.assignment.gap import bound_of, ladder
from tacit.mpc.assignment.minima import LineMinima, line_minima
from tacit.mpc.local import run_parties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal, reconstruct
from tests.mpc.assignment.problems import Asked, signed
from tests.mpc.both import check_cost, three_and_four

SIZE, HIGH = 4, 20
SHAPE = AssignmentShape(SIZE, HIGH)
LADDER = ladder(3, SIZE * HIGH)
Numbers = NDArray[np.int64]
Minimum = Callable[[ArithmeticShare], ArithmeticShare]
"""What takes the place of the least values."""


@contextmanager
def minimum_in_place(change: Minimum) -> Iterator[None]:
    """Let the minimum of the proof give something else than the least."""
    found = line_minima

    async def wrong(*args: Any, **options: Any) -> LineMinima:
        made = await found(*args, **options)
        return replace(made, values=change(made.values))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certificate, "line_minima", wrong)
        yield


@dataclass
class Claim:
    """Costs, a matching (columns x rows), and prices."""

    costs: Numbers
    matching: Numbers
    prices: Numbers

    @classmethod
    def true(cls, seed: int) -> Claim:
        costs = np.random.default_rng(seed).integers(0, HIGH + 1, (SIZE, SIZE))
        run = ClearAssignment(costs, Ties(1))
        state = run.advance(run.start(range(SIZE)), 4 * SIZE)
        matching = np.zeros((SIZE, SIZE), dtype=np.int64)
        matching[np.arange(SIZE), state.row_of] = 1
        return cls(costs, matching, state.prices)

    @property
    def total(self) -> int:
        return int((self.matching.T * self.costs).sum())

    @property
    def optimum(self) -> int:
        return int(self.costs[linear_sum_assignment(self.costs)].sum())

    def proved(self, nodes: int = 3) -> tuple[int, int, int, int]:
        """Whether it is optimal and bounded, its total, and the rung."""
        arrays = (self.costs, self.matching, self.prices)
        dealt = [deal(x.astype(np.uint64).astype(SHAPE.word)[None], nodes=nodes) for x in arrays]

        async def node(s: Session) -> certificate.Proved:
            costs, matching, prices = (x[s.me] for x in dealt)
            nothing = BitShare(matching.map(lambda part: part.astype(np.uint8)).parts)
            state = AssignmentState(nothing, matching, prices, nothing, 1)
            return await certificate.prove(s, state, costs, SHAPE, Ties(1), steps=LADDER)

        run = run_parties(node, nodes=nodes)
        check_cost(run, certificate.cost(nodes, SHAPE, steps=LADDER))
        optimal, valid = (
            int(reconstruct([getattr(made, name) for made in run.results])[0] & 1)
            for name in ("optimal", "valid")
        )
        total, rung = (
            int(signed(reconstruct([getattr(made, name) for made in run.results]))[0])
            for name in ("total", "rung")
        )
        return optimal, valid, total, rung


@three_and_four
def test_a_true_claim_is_proved(nodes: int) -> None:
    claim = Claim.true(0)
    assert claim.proved(nodes) == (1, 1, claim.optimum, len(LADDER) - 1)


def test_each_condition_is_needed() -> None:
    claim = Claim.true(1)
    twice = claim.matching.copy()
    twice[:, 0] = twice[:, 1]  # a column with two rows, and one with none
    assert replace(claim, matching=twice).proved()[:2] == (0, 0)
    shared = claim.matching.copy()
    shared[0] = shared[1]  # a row in two columns, and one in none
    assert replace(claim, matching=shared).proved()[:2] == (0, 0)
    without = claim.matching.copy()
    without[:, 0] = 0
    assert replace(claim, matching=without).proved()[:2] == (0, 0)
    worse = replace(claim, matching=np.roll(claim.matching, 1, axis=1))
    assert worse.total > worse.optimum
    assert worse.proved()[:2] == (0, 1)


def test_a_minimum_that_is_too_high_proves_nothing() -> None:
    """Prices that seem not to fall would make any plan an optimum."""
    claim = Claim.true(1)
    worse = replace(claim, matching=np.roll(claim.matching, 1, axis=1))
    prices = worse.prices.astype(np.uint64).astype(SHAPE.word)[None]
    with minimum_in_place(lambda least: least.map(np.zeros_like).add_public(prices)):
        assert worse.proved()[:2] == (0, 0)


def test_a_sum_that_wraps_around_proves_nothing() -> None:
    """Four prices that fall by a quarter of the ring have not fallen together."""
    claim = Claim.true(2)
    quarter = SHAPE.word.type(1 << 8 * SHAPE.word.itemsize - 2)
    with minimum_in_place(lambda least: least.map(np.copy).add_public(-quarter[None])):
        assert claim.proved()[:2] == (0, 0)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    order=st.permutations(range(SIZE)),
    moves=st.booleans(),
    change=st.lists(
        st.integers(-(2**31), 2**31 - 1) | st.integers(-70, 70), min_size=SIZE, max_size=SIZE
    ),
)
def test_nothing_false_is_proved(
    seed: int, order: list[int], moves: bool, change: list[int]
) -> None:
    """Also if the minimum is anything at all, as with keys out of range."""
    claim = Claim.true(seed)
    if moves:
        claim = replace(claim, matching=claim.matching[order])
    added = np.array(change).astype(np.uint64).astype(SHAPE.word)[None]
    with minimum_in_place(lambda least: least.add_public(added)):
        optimal, valid, total, rung = claim.proved()
    assert total == claim.total
    if optimal:
        assert valid
        assert total == claim.optimum
    if valid:
        assert total <= claim.optimum + bound_of(rung, LADDER)


@given(
    size=st.integers(1, 5000),
    spread=st.integers(0, 10**12),
    bits=st.integers(0, 64),
)
def test_keys_and_sums_fit_the_ring(size: int, spread: int, bits: int) -> None:
    try:
        shape = AssignmentShape(size, spread, descent_bits=bits)
    except ParameterError:
        return
    width = 8 * shape.word.itemsize
    # The certificate's equation has the same integers on both sides.
    assert size * (3 * spread + spread + 1) < 1 << (width - 1)
    largest = ((3 * spread) << shape.tie_bits) + size
    assert largest < 1 << (shape.key_bits - 1)
    assert max(shape.key_bits, bits) <= width


def test_words_that_hold_a_key_may_not_hold_the_sums() -> None:
    shape = AssignmentShape(127, ((1 << 24) - 1) // 3)
    assert shape.key_bits == 32
    assert shape.word == np.uint64


def test_numbers_that_no_word_holds_are_refused() -> None:
    with pytest.raises(ParameterError, match="do not fit words of 64 bits"):
        AssignmentShape(1000, 10**16)
    with pytest.raises(ParameterError, match="at least 1 row"):
        AssignmentShape(0, 1)


def test_a_plan_with_a_forbidden_pair_is_not_proved() -> None:
    """As long as it has one there is a cheaper plan, which the gap shows."""
    asked = Asked.family("sparse", 4, 9, gap=2)
    bad = replace(asked, start=tuple(int(place) for place in np.roll(asked.start or (), 1)))
    cells = asked.layout.forbidden_cells
    assert cells[np.arange(9), list(bad.start or ())].any()
    for batches in ([1], [2], [40]):
        made = bad.on_shares(batches).lines()[0]
        _, proved, _, *columns = made.tolist()
        has_none = not cells[np.arange(9), columns].any()
        assert proved == (batches == [40])
        assert has_none or not proved
