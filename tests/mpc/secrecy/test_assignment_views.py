"""What cycle cancelling shows to a node: neither the plan nor the costs, nor whether it moves.

Minima open signs, whose orders are uniform; everything else sends letters, each with its own pad.
Costs are equal where candidates are compared, so that only tie-breaks tell keys apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tacit.mpc.assignment import iterations, outcome
from tacit.mpc.assignment.layout import Layout, public_matching
from tacit.mpc.assignment.ties import Ties
from tacit.mpc.session import Session
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
MINIMA = ["first", "1", "2", "prove.least"]
LEFT_OUT = [
    "first.shuffle.q1", "0.begin.01", "1.0.0.01", "1.0.opened.1.0", "1.marks.q1", "1.keep.01",
    "1.cycles.diagonal.01", "1.taken.01", "1.matching.bits.1",
    "1.table.01", "prove.table.01", "prove.signs.kept.01", "prove.bits.bits.1",
    "prove.all.kept.01", "finish.bounded.01", "finish.bits.bits.1", "finish.shown.01",
]  # fmt: skip
LEFT_OUT_BESIDE = ["2.beside.marks.q1", "2.beside.keep.01", "2.beside.taken.01", "2.end.keep.01"]
CANDIDATES = {"": 2}


@pytest.fixture(autouse=True)
def lanes_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run what goes in parallel one after the other, so that letters arrive in one order.

    Each lane has its own messages and masks, so its letters are the same.
    """

    async def in_turn(
        self: Session, *functions: Callable[[Session], Any], substreams: Sequence[Session]
    ) -> list[Any]:
        results = []
        for function, substream in zip(functions, substreams, strict=True):
            substream.depth, substream.exchanges = self.depth, self.exchanges
            results.append(await function(substream))
            self.depth = max(self.depth, substream.depth)
            self.exchanges = max(self.exchanges, substream.exchanges)
        return results

    monkeypatch.setattr(Session, "in_parallel", in_turn)


def _solved(nodes: int, *, lag: int = 0) -> Work:
    """Two iterations and the end."""
    shape = LAYOUT.shape()
    shares = split_alike(np.array([[[0, 5], [0, 5]]]), OBSERVER, nodes=nodes)
    costs = [share.map(lambda part: part.astype(shape.word)) for share in shares]

    async def node(s: Session) -> None:
        own, ties = costs[s.me], Ties(1)
        matched, matching = public_matching(s, [[0, 1]], shape)
        state = await iterations.start(s, matched, matching, own, shape, ties)
        state = await iterations.advance(s, state, own, shape, ties, iterations=2, lag=lag)
        await outcome.finish(s, state, own, LAYOUT, shape, ties)

    return node


@three_and_four
@pytest.mark.parametrize("lag", [0, 1])
def test_every_letter_has_a_pad(nodes: int, lag: int) -> None:
    assert faults_of_letters(pads(_solved(nodes, lag=lag), nodes), nodes) == []


@three_and_four
@pytest.mark.parametrize("lag", [0, 1])
def test_orders_are_uniform(nodes: int, lag: int) -> None:
    assert faults_of_orders(_solved(nodes, lag=lag), nodes, CANDIDATES) == []


def test_candidates_that_are_not_mixed_are_noticed() -> None:
    noticed = faults_of_orders(_solved(3), 3, CANDIDATES, NotMixed)
    assert noticed == [f"{each}.order.p does not make orders uniform" for each in MINIMA]
    alike = faults_of_orders(_solved(3), 3, CANDIDATES, MixedAlike)
    assert alike == [f"{each}.order.p mixes groups alike" for each in MINIMA]


@pytest.mark.parametrize(("lag", "labels"), [(0, LEFT_OUT), (1, LEFT_OUT_BESIDE)])
def test_a_mask_that_is_left_out_is_noticed(lag: int, labels: list[str]) -> None:
    work = _solved(3, lag=lag)
    found = pads(work, 3)
    for label in labels:
        assert label in found, sorted(found)
        weakened = found | pads(work, 3, without_mask(label), only=label)
        assert faults_of_letters(weakened, 3), label
