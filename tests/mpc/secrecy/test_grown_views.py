"""What a start that is grown shows to a node: not the costs; weakened ones are caught.

All costs are equal, so that only the numbers of candidates tell keys apart.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.sealed import AllowedCells, grown_start
from tacit.mpc.sealed.moves import TableShape
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

SHAPE = TableShape("assignment", 2, 2, key_bits=20, total_bits=33)
CELLS = AllowedCells(np.ones((2, 2), dtype=bool), 9)
MINIMA = ["prices", "profits", "sweep.0.paths.0", "sweep.0.paths.1"]
LEFT_OUT = [
    "prices.shuffle.q1", "profits.0.bits.1", "sweep.0.paths.0.0.opened.1.0",
    "sweep.0.paths.rows.1.01", "sweep.0.marks.q1", "sweep.0.edges.01", "sweep.0.direct.01",
    "sweep.0.choose.first.01", "sweep.0.taken.01", "sweep.0.numbers.bits.1",
    "choice.total.01", "choice.less.kept.01", "choice.bit.bits.1", "choice.chosen.01",
    "start.matching.bits.1", "start.lines.01",
]  # fmt: skip
CANDIDATES = {"": 3, "profits": 2}
"""A column has two cells and a public number."""


def _start(nodes: int) -> Work:
    shares = split_alike(np.full((2, 2), 4), OBSERVER, nodes=nodes)
    items = np.arange(2)

    async def node(s: Session) -> None:
        await grown_start(s, shares[s.me], SHAPE, CELLS, items, high=9, columns=items)

    return node


def test_every_letter_of_a_start_of_four_nodes_has_a_pad() -> None:
    assert faults_of_letters(pads(_start(4), 4), 4) == []


@three_and_four
def test_orders_of_a_start_are_uniform(nodes: int) -> None:
    assert faults_of_orders(_start(nodes), nodes, CANDIDATES) == []


def test_candidates_that_are_not_mixed_are_noticed() -> None:
    noticed = faults_of_orders(_start(3), 3, CANDIDATES, NotMixed)
    assert noticed == [f"{each}.order.p does not make orders uniform" for each in MINIMA]
    alike = faults_of_orders(_start(3), 3, CANDIDATES, MixedAlike)
    assert alike == [f"{each}.order.p mixes groups alike" for each in MINIMA]


def test_a_mask_that_is_left_out_is_noticed() -> None:
    work = _start(3)
    found = pads(work, 3)
    assert faults_of_letters(found, 3) == []
    for label in LEFT_OUT:
        weakened = found | pads(work, 3, without_mask(label), only=label)
        assert faults_of_letters(weakened, 3), label
