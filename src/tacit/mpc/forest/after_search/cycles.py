"""Cycles along which a matching gets cheaper, all at once.

In a step of the prices every column has a parent: the column k with the least v_k + C_ij - C_ik,
row i being matched to k; itself, where no other is as good. Following parents one ends in a cycle,
and cycles of parents are disjoint. Around one the costs C_ij - C_ik add up to what the prices of
its columns fell by in this step, so to 0 or less: if each column on a cycle takes the row of its
parent, the matching stays one and costs no more.

::

    on_k = whether some column is at k after n steps from parent to parent, and so k on a cycle
    M_j  = on_j ? (A M)_j : M_j          A, columns x columns, marks the parents

A column is among its own candidates, and comes last among equals. So a parent stays one until its
own price falls, and a cycle is found though prices fall at one place of it after the other.

A product per doubling, an OR of each column, the choice, and bits to numbers. Nobody learns
anything, not whether there was a cycle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.protocols import b2a, bit_products
from tacit.mpc.protocols.bit_products import both, matrix_product
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

Bits = NDArray[np.uint8]


def itself_last(ties: NDArray[np.intp], /) -> NDArray[np.intp]:
    """Tie-breaks of columns x columns by which a column is the last among equals.

    >>> itself_last(np.array([[[0, 1], [1, 0]]]))
    array([[[2, 1],
            [1, 2]]])
    """
    size = ties.shape[-1]
    return np.where(np.eye(size, dtype=bool), size, ties)


def doublings(size: int, /) -> int:
    """How many products lead from any column to a cycle, by 1, 2, 4, ... parents.

    >>> [doublings(size) for size in (1, 2, 3, 100, 129)]
    [0, 1, 2, 7, 8]
    """
    return (size - 1).bit_length()


def _halves(size: int) -> list[int]:
    """How many pairs each level of an OR of so many bits has."""
    pairs = []
    while size > 1:
        pairs.append(size // 2)
        size -= size // 2
    return pairs


async def cancel_cycles(
    session: Session, parents: BitShare, matched: BitShare, shape: ForestShape, *, label: str
) -> tuple[BitShare, ArithmeticShare]:
    """The matching after all cycles of parents are taken, as bits and as numbers.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> rows, first = np.eye(3, dtype=np.uint8), [1, 0, 0]
    >>> matched, parents = deal_bits(rows[None]), deal_bits(rows[None, first])
    >>> async def node(s):
    ...     shape = ForestShape(3, spread=9)
    ...     made = await cancel_cycles(s, parents[s.me], matched[s.me], shape, label="cycles")
    ...     return made[1]
    >>> reveal(run_parties(node).results)[0]
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 1]])
    """
    size = shape.size
    after, moved = parents, matched
    for number in range(doublings(size)):
        right = _beside(after, matched) if number == 0 else after
        product = await matrix_product(session, after, right, label=f"{label}.{number}")
        if number == 0:
            moved = product[:, :, size:]
        after = product[:, :, :size]
    for number, pairs in enumerate(_halves(size)):
        one, other, rest = after[:, :pairs], after[:, pairs : 2 * pairs], after[:, 2 * pairs :]
        some = one + other + await both(session, one, other, label=f"{label}.some.{number}")
        after = BitShare({c: np.concatenate([p, rest.parts[c]], 1) for c, p in some.parts.items()})
    on_cycle = after[:, 0, :, None]
    made = matched + await both(session, on_cycle, matched + moved, label=f"{label}.rows")
    matching = await b2a.bits_to_arithmetic(
        session, made, label=f"{label}.matching", dtype=shape.word
    )
    return made, matching


def _beside(first: BitShare, second: BitShare) -> BitShare:
    return BitShare({c: np.concatenate([p, second.parts[c]], -1) for c, p in first.parts.items()})


def cost(nodes: int, shape: ForestShape) -> Cost:
    """The cost of taking all cycles of one step."""
    k, size = shape.weightings, shape.size
    one = bit_products.cost(nodes, k * size**2)
    total = Cost.free(nodes)
    for number in range(doublings(size)):
        total = total.then(one if number else bit_products.cost(nodes, 2 * k * size**2))
    for pairs in _halves(size):
        total = total.then(bit_products.cost(nodes, k * pairs * size))
    total = total.then(one)
    return total.then(b2a.cost(nodes, k * size**2, shape.word))
