"""Proofs hold whatever they are given; gaps and checkpoints show what is agreed and no more."""

from __future__ import annotations

import asyncio
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
from tacit.mpc import COORDINATOR
from tacit.mpc.assignment import (
    AssignmentShape,
    AssignmentState,
    Ties,
    bound_of,
    ladder,
    proof,
    rung_of,
)
from tacit.mpc.assignment.clear import ClearAssignment
from tacit.mpc.assignment.minima import ColumnMinima, column_minima
from tacit.mpc.assignment.proof import hear_finished, tell_finished
from tacit.mpc.local import parties, run_parties
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, deal, deal_bits, reconstruct
from tests.mpc.assignment.problems import FAMILIES, Asked, signed
from tests.mpc.both import check_cost, three_and_four
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_bits_alike

SIZE, HIGH = 4, 20
SHAPE = AssignmentShape(SIZE, HIGH)
LADDER = ladder(3, SIZE * HIGH)
Numbers = NDArray[np.int64]
Minimum = Callable[[ArithmeticShare], ArithmeticShare]
"""What takes the place of the least values."""


@contextmanager
def minimum_in_place(change: Minimum) -> Iterator[None]:
    """Let the minimum of the proof give something else than the least."""
    found = column_minima

    async def wrong(*args: Any, **options: Any) -> ColumnMinima:
        made = await found(*args, **options)
        return replace(made, values=change(made.values))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proof, "column_minima", wrong)
        yield


@dataclass
class Claim:
    """Costs, a matching (columns x rows), and prices."""

    costs: Numbers
    matching: Numbers
    prices: Numbers
    shape: AssignmentShape = SHAPE

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
        dealt = [
            deal(x.astype(np.uint64).astype(self.shape.word)[None], nodes=nodes) for x in arrays
        ]

        async def node(s: Session) -> proof.ProvedShares:
            costs, matching, prices = (x[s.me] for x in dealt)
            nothing = BitShare(matching.map(lambda part: part.astype(np.uint8)).parts)
            state = AssignmentState(nothing, matching, prices, nothing, 1)
            return await proof.prove(s, state, costs, self.shape, Ties(1), steps=LADDER)

        run = run_parties(node, nodes=nodes)
        check_cost(run, proof.cost_of_proof(nodes, self.shape, steps=LADDER))
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


def test_a_matching_with_a_forbidden_pair_is_none() -> None:
    """Its costs may add up to a turn of the ring, and no candidate shows what its rows pay."""
    claim = Claim.true(1)
    allowed = claim.matching == 0
    assert replace(claim, shape=AssignmentShape(SIZE, HIGH, allowed=allowed)).proved()[:2] == (0, 0)


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


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(FAMILIES),
    seed=st.integers(0, 10**6),
    rows=st.integers(4, 9),
    count=st.integers(1, 12),
    base=st.integers(2, 12),
    lag=st.integers(0, 1),
)
def test_no_plan_is_better_by_more(
    name: str, seed: int, rows: int, count: int, base: int, lag: int
) -> None:
    asked = Asked.family(name, seed, rows, lag=lag, gap=base)
    twin = asked.twin(0)
    first = asked.start or np.random.default_rng(seed).permutation(asked.layout.size)
    state = twin.advance(twin.start(list(first)), count)
    gap, steps = twin.gap(state), asked.ladder
    bound = bound_of(rung_of(gap, steps), steps)
    best = asked.optimum()
    assert best <= twin.total(state) <= best + gap
    assert gap <= bound or bound == steps[-1]
    assert (bound == 0) == (gap == 0)
    # No finer than agreed: the step below does not hold.
    assert bound in (steps[-1], min((step for step in steps if step >= gap), default=steps[-1]))


@pytest.mark.parametrize("base", [2, 10])
def test_the_ladder_ends_where_no_two_plans_are_further_apart(base: int) -> None:
    for widest in (0, 1, 2, 7, 1000):
        steps = ladder(base, widest)
        assert list(steps) == sorted(set(steps))
        assert steps[0] == 0
        assert steps[-1] == max(1, widest)
        assert bound_of(0, steps) == steps[-1]


def test_a_ladder_adds_no_round_to_a_proof() -> None:
    shape = Asked.family("ap", 1, 9).shape
    plain, fine = (proof.cost_of_proof(3, shape, steps=steps) for steps in ((), ladder(2, 9000)))
    assert plain.rounds == fine.rounds


def test_a_gap_that_is_no_bound_is_not_opened() -> None:
    """Prices that seem to have risen make the gap small, and it bounds nothing."""
    asked = replace(Asked.family("ap", 1, 6, gap=2), start=(5, 4, 3, 2, 1, 0))

    def rung() -> tuple[int, int]:
        _, proved, found, *_ = asked.on_shares([2]).lines()[0].tolist()
        return proved, found

    assert rung()[1] < len(asked.ladder) - 1
    high = asked.shape.word.type(9 * asked.layout.spread)
    with minimum_in_place(lambda least: least.map(np.copy).add_public(high[None])):
        assert rung() == (0, 0)


@three_and_four
@pytest.mark.parametrize("bits", [[1], [0], [1, 1, 1], [1, 1, 0, 1, 1], [1] * 6, [0] * 4])
def test_it_is_opened_whether_all_are_proved(nodes: int, bits: list[int]) -> None:
    shares = deal_bits(np.array(bits, dtype=np.uint8), nodes=nodes)
    run = run_parties(lambda s: tell_finished(s, shares[s.me]), hear_finished, nodes=nodes)
    assert run.results == [all(bits)] * nodes
    assert run.coordinator is all(bits)
    check_cost(run, proof.cost_of_checkpoint(nodes, len(bits)))


@pytest.mark.parametrize("count", [2, 30])
def test_the_proofs_of_a_batch_are_opened_as_the_twins_say(count: int) -> None:
    costs = np.random.default_rng(3).integers(0, 99, (3, 7, 7))
    asked = Asked.square(costs, start=tuple(range(7)))
    dealt = asked.dealt()

    async def node(s: Session) -> bool:
        state = await asked.begin(s, dealt[s.me])
        state = await asked.advance(s, state, dealt[s.me], count)
        answer = await asked.finish(s, state, dealt[s.me])
        assert answer.proved is not None
        return await tell_finished(s, answer.proved)

    gaps = []
    for weighting in range(3):
        twin = asked.twin(weighting)
        gaps.append(twin.gap(asked.clear(weighting, range(7), [count])[-1]))
    run = run_parties(node, hear_finished, timeout=60.0)
    assert run.results == [not any(gaps)] * 3
    assert run.coordinator is (count == 30)


class Unmasked(RememberedMasks):
    """A weakened source: products have no masks."""

    def words(self, label: str, component: int, count: int) -> Words:
        return super().words(label, component, count) * np.uint64(0)


async def _the_last(session: Session, proved: BitShare) -> bool:
    """A weakened checkpoint: it tells of one weighting alone."""
    return await tell_finished(session, proved[-1:])


def p_of_same_view(
    nodes: int, masks: type[RememberedMasks] = RememberedMasks, tell: object = tell_finished
) -> float:
    """Node 1 and the coordinator see the same whichever of three plans is not proved."""
    observer = 1

    async def lines(bits: list[int], numbers: range) -> NDArray[np.uint8]:
        shares = split_bits_alike(np.array(bits, dtype=np.uint8), observer, nodes=nodes)

        async def node(s: Session) -> None:
            await tell(s, shares[s.me])  # type: ignore[operator]

        made = []
        for number in numbers:
            with letters_seen() as arrived:
                source = fixed_for(observer, number, masks, nodes=nodes)
                await parties(node, hear_finished, nodes=nodes, masks=source)
            seen = [*arrived[observer], *arrived[COORDINATOR]]
            made.append(np.unpackbits(np.concatenate([each.reshape(-1) for each in seen])))
        return np.array(made, dtype=np.uint8)

    async def compared() -> float:
        first = await lines([1, 1, 0], range(40))
        return corrected_p(first, await lines([0, 1, 1], range(40, 80)))

    return asyncio.run(compared())


@three_and_four
def test_which_one_is_not_proved_does_not_show(nodes: int) -> None:
    assert p_of_same_view(nodes) > CHANCE
    assert p_of_same_view(nodes, Unmasked) < SURE


def test_a_bit_of_one_weighting_would_show() -> None:
    assert p_of_same_view(3, tell=_the_last) < SURE
