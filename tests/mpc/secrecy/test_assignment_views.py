"""A solver of assignments shows a node neither plan nor costs, nor whether it moves.

Minima open signs, whose orders are uniform; everything else sends letters, each with its own pad.
Costs are equal where candidates are compared, so that only tie-breaks tell keys apart. What a
checkpoint opens is looked at in `tests/mpc/assignment/test_proof.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.assignment import AssignmentShape, Layout, Ties
from tacit.mpc.assignment import state as first_plan
from tacit.mpc.local import parties
from tacit.mpc.sealed.moves import Step
from tacit.mpc.session import Session
from tacit.mpc.shares import held_by, reconstruct
from tests.mpc.assignment.problems import Asked
from tests.mpc.both import three_and_four
from tests.mpc.secrecy.test_minimum_views import Scripted
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

COSTS = np.array([[[0, 5], [0, 5]]] * 2)
PUBLIC = Asked.square(COSTS, start=(0, 1), generations=1, gap=3)
FORBIDDEN = Asked(
    np.full((1, 3, 3), 5),
    Layout(3, range(3), 9, forbidden=np.roll(np.eye(3, dtype=bool), 1, axis=1)),
    start=(0, 1, 2),
    generations=1,
    gap=3,
)
"""Each column has two rows, and with its own price three candidates."""
MINIMA = ["first", "1", "2", "3", "prove.least"]
"""Of the first prices, of a generation, of two iterations, of the proof."""
LEFT_OUT = [
    "drawn.lines.q1", "first.shuffle.q1",
    "1.table.01", "1.shuffle.q1", "1.0.0.01", "1.0.opened.1.0", "1.back.q1", "1.update.01",
    "2.paid.01", "2.0.0.01", "2.0.opened.1.0", "2.marks.q1", "2.keep.01",
    "2.cycles.diagonal.01", "2.taken.01", "2.matching.bits.1",
    "prove.paid.01", "prove.signs.kept.01", "prove.bits.bits.1", "prove.all.kept.01",
    "finish.bits.bits.1", "finish.rung.01",
]  # fmt: skip
LEFT_OUT_BESIDE = ["3.beside.marks.q1", "3.beside.keep.01", "3.beside.taken.01", "3.end.keep.01"]
CANDIDATES = {"2": 3, "3": 3, "": 2}


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


def _solved(nodes: int, *, lag: int = 0, drawn: bool = False, problem: Asked = PUBLIC) -> Work:
    """A start, a generation, two iterations and the end."""
    asked = replace(problem, lag=lag, start=None if drawn else problem.start)
    shares = split_alike(problem.weights, OBSERVER, nodes=nodes)

    async def node(s: Session) -> None:
        own = asked.costs(shares[s.me])
        state = await asked.begin(s, own)
        await asked.finish(s, await asked.advance(s, state, own, 3), own)

    return node


@three_and_four
@pytest.mark.parametrize(("lag", "drawn"), [(0, True), (1, False)])
def test_every_letter_has_a_pad(nodes: int, lag: int, drawn: bool) -> None:
    work = _solved(nodes, lag=lag, drawn=drawn)
    assert faults_of_letters(pads(work, nodes), nodes) == []


@three_and_four
@pytest.mark.parametrize("lag", [0, 1])
def test_orders_are_uniform(nodes: int, lag: int) -> None:
    assert faults_of_orders(_solved(nodes, lag=lag), nodes, CANDIDATES) == []


@three_and_four
@pytest.mark.parametrize("lag", [0, 1])
def test_groups_without_forbidden_pairs_show_as_little(nodes: int, lag: int) -> None:
    work = _solved(nodes, lag=lag, problem=replace(FORBIDDEN, generations=0))
    assert faults_of_letters(pads(work, nodes), nodes) == []
    sizes = {"1": 3, **CANDIDATES}
    assert faults_of_orders(work, nodes, sizes) == []


def test_candidates_that_are_not_mixed_are_noticed() -> None:
    noticed = faults_of_orders(_solved(3), 3, CANDIDATES, NotMixed)
    assert noticed == [f"{each}.order.p does not make orders uniform" for each in MINIMA]
    alike = faults_of_orders(_solved(3), 3, CANDIDATES, MixedAlike)
    assert alike == [f"{each}.order.p mixes groups alike" for each in MINIMA]


def test_keys_that_are_equal_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def equal(ties: Ties, iteration: int, shape: AssignmentShape) -> NDArray[np.intp]:
        return np.zeros((2, shape.pairs), dtype=np.intp)

    with monkeypatch.context() as patch:
        patch.setattr(Ties, "drawn", equal)
        noticed = faults_of_orders(_solved(3), 3, CANDIDATES)
    minima = [each for each in MINIMA if each != "1"]
    assert noticed == [f"{each}.order.p does not make orders uniform" for each in minima]
    moves = Asked.moves

    def alike(asked: Asked, *args: Any) -> list[Step]:
        return [replace(step, offsets=np.zeros_like(step.offsets)) for step in moves(asked, *args)]

    monkeypatch.setattr(Asked, "moves", alike)
    noticed = faults_of_orders(_solved(3), 3, CANDIDATES)
    assert noticed == ["1.order.p does not make orders uniform"]


@pytest.mark.parametrize(("lag", "labels"), [(0, LEFT_OUT), (1, LEFT_OUT_BESIDE)])
def test_a_mask_that_is_left_out_is_noticed(lag: int, labels: list[str]) -> None:
    work = _solved(3, lag=lag, drawn=not lag)
    found = pads(work, 3)
    for label in labels:
        assert label in found, sorted(found)
        weakened = found | pads(work, 3, without_mask(label), only=label)
        assert faults_of_letters(weakened, 3), label


@three_and_four
def test_a_drawn_plan_is_any_plan_to_each_node(nodes: int) -> None:
    """Given all that a node draws, each permutation that it lacks leads to another plan."""
    shape = AssignmentShape(3, 9)

    async def plan(order: tuple[int, ...], lacked: int) -> tuple[int, ...]:
        def source(me: int) -> Scripted:
            masks = Scripted({c: bytes([c + 1]) * 32 for c in held_by(me, nodes)})
            masks.given = {("drawn.order.p", lacked): order}
            return masks

        run = await parties(
            lambda s: first_plan.drawn_matching(s, shape, label="drawn"), nodes=nodes, masks=source
        )
        matched = reconstruct([bits for bits, _ in run.results])[0]
        return tuple(int(row) for row in matched.argmax(axis=1))

    for observer in range(nodes):
        orders = list(permutations(range(3)))
        plans = [asyncio.run(plan(order, observer)) for order in orders]
        assert sorted(plans) == orders
