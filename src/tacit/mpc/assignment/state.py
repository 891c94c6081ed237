"""The shares that nodes hold of an assignment between steps, and the first plan.

Where pairs are forbidden, the first plan is a public one without any, and no later plan has one.
Elsewhere it is drawn: the lines of the identity are shuffled obliviously, in the rounds of a
shuffle, so that nobody knows it. From a public plan, one that is opened after a few steps would
disclose which of few known exchanges were worth it; an agreement says how many iterations there are
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.layout import AssignmentShape
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import shuffle
from tacit.mpc.protocols.loss import Size
from tacit.mpc.protocols.shuffle import draw_block_order
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, public_share


@dataclass(frozen=True, slots=True)
class AssignmentState:
    """Shares of the matching, the prices and the parents; weightings are the first axis."""

    matched: BitShare
    """Columns x rows: which row each column has, one bit per byte."""
    matching: ArithmeticShare
    """The same bits as numbers of the ring."""
    prices: ArithmeticShare
    """One for each column. Only their differences count."""
    parents: BitShare
    """Columns x columns: the parent of each column, no bit where it has none.

    With lag 1 the cycles among them are not exchanged yet, with lag 0 there are none.
    """
    step: int
    """How many steps were made: generations of the descent, then iterations."""

    @property
    def kept(self) -> list[ArithmeticShare]:
        """What a node keeps on its disk; `read_state` restores the rest.

        Bits are kept as words of which the lowest bit counts. Handing a state over to a node that
        was away preserves sums, and the lowest bit of a sum is the sum of the lowest bits modulo 2.
        """
        return [self.matching, self.prices, ArithmeticShare(dict(self.parents.parts))]


def read_state(kept: Sequence[ArithmeticShare], /, *, step: int) -> AssignmentState:
    """Return the state that was kept after a step."""
    matching, prices, parents = kept
    return AssignmentState(lowest_bits(matching), matching, prices, lowest_bits(parents), step)


def lowest_bits(words: ArithmeticShare, /) -> BitShare:
    """Return shares of the lowest bit of each shared word, without a message.

    >>> from tacit.mpc.shares import deal, reconstruct
    >>> reconstruct([lowest_bits(share) for share in deal(np.array([6, 7], dtype=np.uint32))])
    array([0, 1], dtype=uint8)
    """
    return BitShare(
        {c: (part & part.dtype.type(1)).astype(np.uint8) for c, part in words.parts.items()}
    )


def kept_sizes(shape: AssignmentShape, /) -> list[Size]:
    """Return the sizes of what is kept of a state."""
    byte = np.dtype(np.uint8)
    line = shape.weightings, shape.size
    return [(shape.square, shape.word), (line, shape.word), (shape.square, byte)]


async def drawn_matching(
    session: Session, shape: AssignmentShape, *, label: str
) -> tuple[BitShare, ArithmeticShare]:
    """Return shares of a uniformly random matching for each weighting, as bits and as numbers.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import reconstruct
    >>> async def node(s):
    ...     return (await drawn_matching(s, AssignmentShape(3, spread=9), label="drawn"))[1]
    >>> drawn = reconstruct(run_parties(node).results)[0]
    >>> drawn.sum(axis=0), drawn.sum(axis=1)
    (array([1, 1, 1], dtype=uint64), array([1, 1, 1], dtype=uint64))
    """
    k, size = shape.weightings, shape.size
    identity = np.tile(np.eye(size, dtype=shape.word), (k, 1))
    lines = public_share(identity, ArithmeticShare, me=session.me, nodes=session.nodes)
    # Each weighting has an order of its own: one for all would tell of a plan by another.
    order = draw_block_order(session, k, size, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, lines, order, label=f"{label}.lines")
    matching = mixed.map(lambda part: part.reshape(shape.square))
    return lowest_bits(matching), matching


def cost_of_drawing(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of a drawn plan."""
    return shuffle.cost(nodes, (shape.weightings * shape.size, shape.size), shape.word)


def public_matching(
    session: Session, column_of: Sequence[Sequence[int]] | NDArray[np.intp], shape: AssignmentShape
) -> tuple[BitShare, ArithmeticShare]:
    """Return shares of public matchings, one per weighting, as bits and as numbers; no message."""
    columns = np.asarray(column_of, dtype=np.intp)
    bits = np.zeros(shape.square, dtype=np.uint8)
    for weighting, places in enumerate(columns):
        bits[weighting, places, np.arange(shape.size)] = 1
    nothing = np.zeros_like(bits)
    matched = BitShare(dict.fromkeys(session.held, nothing)).add_public(bits)
    empty = ArithmeticShare(dict.fromkeys(session.held, nothing.astype(shape.word)))
    return matched, empty.add_public(bits.astype(shape.word))
