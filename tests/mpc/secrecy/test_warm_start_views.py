"""What a forest that begins with a plan shows to a node: neither the plan nor the costs.

Minima open signs, whose orders are uniform; everything else sends letters, each with its own pad.
Costs are equal where candidates are compared, so that only tie-breaks tell keys apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from tacit.mpc.forest import Coins, Layout, warm_start
from tacit.mpc.forest.after_search.better import cheaper
from tacit.mpc.forest.after_search.matching import matching_of_ids
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.both import three_and_four
from tests.mpc.secrecy.weakened import split_alike
from tests.mpc.secrecy.whole_views import (
    OBSERVER,
    MixedAlike,
    NotMixed,
    Work,
    faults_of_letters,
    faults_of_orders,
    pads,
    without_mask,
)

LAYOUT = Layout(rows=2, columns=(0, 1), spread=9)
COPIES = Layout(rows=2, columns=(0, 1, 1), spread=9)
MINIMA = ["warm.prices", "warm.0", "warm.1", "warm.profits"]
LEFT_OUT = [
    "plan.less.bits.1", "plan.less.kept.01", "plan.matching.bits.1", "plan.better.totals.01",
    "warm.prices.shuffle.q1", "warm.0.0.0.01", "warm.0.0.opened.1.0", "warm.1.parents.q1",
    "warm.1.0.01", "warm.1.some.0.01", "warm.1.rows.01", "warm.1.matching.bits.1",
    "warm.1.table.01", "0.filter.rows.01", "better.chosen.01",
]  # fmt: skip
CANDIDATES = {"": 2}


def _split(numbers: object, layout: Layout, nodes: int) -> list[ArithmeticShare]:
    shares = split_alike(np.array(numbers), OBSERVER, nodes=nodes)
    return [share.map(lambda part: part.astype(layout.shape().word)) for share in shares]


def _finish(nodes: int) -> Work:
    """A plan, a second one to fall back on, two steps, the cycles after them, and the choice."""
    shape, split = LAYOUT.shape(), partial(_split, layout=LAYOUT, nodes=nodes)
    costs, ids = split(shape.scale * np.array([[[0, 5], [0, 5]]])), split([[0, 1]])
    other = split([[[0, 1], [1, 0]]])

    async def node(s: Session) -> None:
        table, known = costs[s.me], other[s.me]
        state = await warm_start(
            s, ids[s.me], table, LAYOUT, shape, Coins(1), steps=2, fallback=known
        )
        await cheaper(s, state.matching, known, table, shape)

    return node


def _plan_with_copies(nodes: int) -> Work:
    ids = _split([[1, 1]], COPIES, nodes)

    async def node(s: Session) -> None:
        await matching_of_ids(s, ids[s.me], COPIES, COPIES.shape())

    return node


@pytest.mark.parametrize(
    ("made", "nodes"), [(_finish, 4), (_plan_with_copies, 3), (_plan_with_copies, 4)]
)
def test_every_letter_of_a_finish_has_a_pad(made: Callable[[int], Work], nodes: int) -> None:
    assert faults_of_letters(pads(made(nodes), nodes), nodes) == []


@three_and_four
def test_orders_of_a_finish_are_uniform(nodes: int) -> None:
    assert faults_of_orders(_finish(nodes), nodes, CANDIDATES) == []


def test_candidates_that_are_not_mixed_are_noticed() -> None:
    noticed = faults_of_orders(_finish(3), 3, CANDIDATES, NotMixed)
    assert noticed == [f"{each}.order.p does not make orders uniform" for each in MINIMA]
    alike = faults_of_orders(_finish(3), 3, CANDIDATES, MixedAlike)
    assert alike == [f"{each}.order.p mixes groups alike" for each in MINIMA]


def test_a_mask_that_is_left_out_is_noticed() -> None:
    work = _finish(3)
    found = pads(work, 3)
    assert faults_of_letters(found, 3) == []
    for label in LEFT_OUT:
        weakened = found | pads(work, 3, without_mask(label), only=label)
        assert faults_of_letters(weakened, 3), label
