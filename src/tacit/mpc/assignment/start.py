"""The first plan of an assignment: public, or drawn so that nobody knows it.

Where pairs are forbidden, the plan is a public one without any, and no later plan has one.
Elsewhere it is drawn: the lines of the identity are shuffled obliviously, in the rounds of a
shuffle. Nobody learns anything. From a public plan, one that is opened after a few steps would tell
which of few known exchanges were worth it; an agreement says how many iterations there are before.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import lowest_bits
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import shuffle
from tacit.mpc.protocols.shuffle import draw_block_order
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, public_share


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
    order = draw_block_order(session, k, size, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, lines, order, label=f"{label}.lines")
    matching = mixed.map(lambda part: part.reshape(shape.square))
    return lowest_bits(matching), matching


def cost(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of drawing."""
    lines = shape.weightings * shape.size, shape.size
    return shuffle.cost(nodes, lines, shape.word)


def public_matching(
    session: Session, column_of: Sequence[Sequence[int]] | NDArray[np.intp], shape: AssignmentShape
) -> tuple[BitShare, ArithmeticShare]:
    """Return shares of public matchings, one per weighting, as bits and as numbers; no message."""
    columns = np.asarray(column_of, dtype=np.intp)
    bits = np.zeros(shape.square, dtype=np.uint8)
    for each, places in enumerate(columns):
        bits[each, places, np.arange(shape.size)] = 1
    nothing = np.zeros_like(bits)
    matched = BitShare(dict.fromkeys(session.held, nothing)).add_public(bits)
    empty = ArithmeticShare(dict.fromkeys(session.held, nothing.astype(shape.word)))
    return matched, empty.add_public(bits.astype(shape.word))
