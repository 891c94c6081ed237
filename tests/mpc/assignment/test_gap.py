"""What a plan may lack, rounded up to a ladder: true, and no finer than agreed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.mpc.assignment import bound_of, certificate, ladder, rung_of
from tests.mpc.assignment.problems import FAMILIES, Asked
from tests.mpc.assignment.test_certificate import minimum_in_place


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
    plain, fine = (certificate.cost(3, shape, steps=steps) for steps in ((), ladder(2, 9000)))
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
