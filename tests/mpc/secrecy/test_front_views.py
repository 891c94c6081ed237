"""The final reveal shows the coordinator, also with one node, the bits and agreed values alone."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.mpc import COORDINATOR, ArithmeticShare, BitShare, Session
from tacit.mpc.disclose import front
from tacit.mpc.protocols.halves import choose
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_order
from tests.mpc.both import three_and_four
from tests.mpc.secrecy.pareto_views import Asked, p_of_same_view
from tests.mpc.secrecy.sealed_views import CHANCE
from tests.mpc.secrecy.weakened import SURE

pytestmark = pytest.mark.slow

AGREEING, OPPOSED, REVERSED = [[7, 0], [6, 0]], [[7, 0], [0, 6]], [[0, 7], [0, 6]]
OTHER_VALUES = [[5, 7], [5, 6]]
"""The same front with the same values as `REVERSED`: only the dominated one differs."""
RUNS = 20


@pytest.mark.parametrize(("nodes", "other"), [(3, OPPOSED), (4, REVERSED)])
def test_a_node_sees_nothing_of_a_reveal(nodes: int, other: list[list[int]]) -> None:
    p, told = p_of_same_view((AGREEING, other), Asked("values", (1,), nodes), runs=RUNS)
    assert len(told) == 2
    assert p > CHANCE


@three_and_four
def test_the_coordinator_and_a_node_see_the_bits(nodes: int) -> None:
    """Both are non-dominated; which is better in what is not told."""
    ask = Asked("plans", (COORDINATOR, nodes - 1), nodes)
    p, told = p_of_same_view((OPPOSED, [[0, 6], [7, 1]]), ask, runs=RUNS)
    assert told == {(1, 1)}
    assert p > CHANCE


def test_the_coordinator_and_a_node_see_no_value_of_a_dominated_plan() -> None:
    ask = Asked("values", (COORDINATOR, 2))
    p, told = p_of_same_view((REVERSED, OTHER_VALUES), ask, runs=RUNS)
    assert told == {(0, 1, 7, 6)}
    assert p > CHANCE


async def _all_of_them(
    session: Session, bits: BitShare, x: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    await choose(session, bits, x, label=label)
    return x


def test_values_of_all_plans_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.mpc.disclose.front.halves.choose", _all_of_them)
    monkeypatch.setattr(front, "read_front", lambda bits, _, widths: front.Front(bits, None))
    ask = Asked("values", (COORDINATOR, 0))
    assert p_of_same_view((REVERSED, OTHER_VALUES), ask, runs=RUNS)[0] < SURE


def _no_order(session: Session, n: int, *, label: str) -> SecretPermutation:
    known = draw_order(session, n, label=label).known
    return SecretPermutation({c: np.arange(n) for c in known})


def test_ranks_in_an_order_that_is_not_secret_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "draw_order", _no_order)
    assert p_of_same_view((AGREEING, REVERSED), Asked("plans", (1,)), runs=RUNS)[0] < SURE
