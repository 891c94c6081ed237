"""Keep parents, exchange along all their cycles at once, and cut the edges at moved columns.

*Keep*: the parent of a column changes only when its price falls. *Exchange*: a column on a cycle
takes the row of its parent. Cycles of parents are disjoint, so the matching stays one. *Cut*: an
edge that ends at a moved column is dropped.

The invariant is v_j >= v_p + C_ij - C_ip for every column j with parent p and the row i that p has.
It holds when the edge is set and, since v_p never rises, until the row of p changes: hence the cut.
The row of j is not in it, so an edge that begins at a moved column stays right. Around a cycle it
makes the exchange strictly cheaper (docs/protocols/prices-and-cycles.md). Without the cut plans get
worse.

Products of bits, and bits to numbers. Nobody learns anything, not whether there was a cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment import polynomial
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import bit_products, halves
from tacit.mpc.protocols.bit_products import products
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

_ONE = np.ones(1, dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """The matching after an exchange, and what is left of the parents."""

    matched: BitShare
    matching: ArithmeticShare
    parents: BitShare
    """Those that were exchanged, after the cut."""
    stays: BitShare
    """Whether each column has kept its row."""


async def keep_parents(
    session: Session,
    marks: BitShare,
    parents: BitShare,
    stays: BitShare | None = None,
    *,
    label: str,
) -> BitShare:
    """Return the parents after a minimum: the marked column, the one of before where it is itself.

    With `stays`, edges of the minimum that end at columns that moved since are cut; those of
    `parents` are cut already.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> marks = deal_bits(np.eye(3, dtype=np.uint8)[None, [1, 1, 2]])
    >>> before = deal_bits(np.array([[[0, 0, 0], [0, 0, 0], [1, 0, 0]]], dtype=np.uint8))
    >>> run = run_parties(lambda s: keep_parents(s, marks[s.me], before[s.me], label="keep"))
    >>> reconstruct(run.results)[0]
    array([[0, 1, 0],
           [0, 0, 0],
           [1, 0, 0]], dtype=uint8)
    """
    itself = marks.map(lambda part: np.diagonal(part, axis1=-2, axis2=-1)[..., None])
    others = marks.map(_off_diagonal)
    factors = [(itself, parents, np.bitwise_and)]
    if stays is None:
        return others + (await products(session, factors, label=label))[0]
    kept, fresh = await products(
        session, [*factors, (others, stays[..., None, :], np.bitwise_and)], label=label
    )
    return fresh + kept


def _off_diagonal(part: NDArray[Any]) -> NDArray[Any]:
    index, made = np.arange(part.shape[-1]), part.copy()
    made[..., index, index] = 0
    return made


def cost_of_keeping(nodes: int, shape: AssignmentShape, *, cuts: bool) -> Cost:
    """Return the cost of keeping parents, with or without a cut."""
    entries = shape.weightings * shape.size**2
    return bit_products.cost(nodes, *[entries] * (1 + cuts))


async def exchange(
    session: Session,
    parents: BitShare,
    matched: BitShare,
    shape: AssignmentShape,
    *,
    label: str,
) -> Exchanged:
    """Give each column on a cycle of parents the row of its parent, and cut.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> rows, shape = np.eye(3, dtype=np.uint8), AssignmentShape(3, spread=9)
    >>> matched = deal_bits(rows[None])
    >>> parents = deal_bits(rows[None, [1, 0, 0]])
    >>> async def node(s):
    ...     made = await exchange(s, parents[s.me], matched[s.me], shape, label="x")
    ...     return made.matching
    >>> reveal(run_parties(node).results)[0]
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 1]])
    """
    on_cycle, rows = await polynomial.on_cycles(session, parents, matched, label=f"{label}.cycles")
    stays = on_cycle.add_public(_ONE)
    taken, left = await products(
        session,
        [
            (on_cycle[..., None], matched + rows, np.bitwise_and),
            (parents, stays[..., None, :], np.bitwise_and),
        ],
        label=f"{label}.taken",
    )
    made = matched + taken
    matching = await halves.bits_to_arithmetic(
        session, made, label=f"{label}.matching", dtype=shape.word
    )
    return Exchanged(made, matching, left, stays)


def cost(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of an exchange."""
    entries = shape.weightings * shape.size**2
    total = polynomial.cost(nodes, shape.weightings, shape.size)
    total = total.then(bit_products.cost(nodes, entries, entries))
    return total.then(halves.cost_of_conversion(nodes, entries, shape.word))
