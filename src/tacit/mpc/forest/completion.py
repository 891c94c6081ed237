"""A full matching from an unfinished one: free rows and free columns are paired by rank.

Rows are sorted with the free ones first, and columns likewise; what stands at one position belongs
together. Keys are `size` if matched plus the index, so they are distinct, and the opened orders are
those of uniform rankings. The sorted position of each goes back as a line of bits, and

::

    pairs = positions of columns x (positions of rows, of free ones)^T

Nobody learns anything, not whether anything was free. Where nothing is free nothing changes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.forest import ordering
from tacit.mpc.forest.ordering import sort_lines
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.protocols import b2a, bit_products, shuffle
from tacit.mpc.protocols.bit_products import both, matrix_product
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


def _key_bits(size: int) -> int:
    return 1 + (2 * size - 1).bit_length()


def _line_bytes(size: int) -> int:
    return -(-size // 8)


def _keys(matching: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """How often rows, then columns, are matched, times the size: 2 groups per weighting."""
    dtype, size = matching.dtype, matching.shape[1]
    counts = [matching.sum(axis=axis, dtype=dtype) for axis in (1, 2)]
    keys: NDArray[np.unsignedinteger] = np.stack(counts, axis=1) * dtype.type(size)
    return keys.reshape(-1, 1)


async def complete(session: Session, state: ForestState, shape: ForestShape) -> ArithmeticShare:
    """Shares of a matching of all rows, columns x rows, as numbers of the ring."""
    return await complete_matching(session, state.matched, state.matching, shape, label="complete")


async def complete_matching(
    session: Session,
    matched: BitShare,
    matching: ArithmeticShare,
    shape: ForestShape,
    *,
    label: str,
) -> ArithmeticShare:
    """The same of a matching, given as bits and as numbers."""
    k, size, word = shape.weightings, shape.size, shape.word
    index = np.tile(np.arange(size), 2 * k).astype(word)[:, None]
    order, _, _ = await sort_lines(
        session,
        matching.map(_keys).add_public(index),
        2 * k,
        bits=_key_bits(size),
        label=label,
    )
    ranks = np.zeros((2 * k * size, size), dtype=np.uint8)
    ranks[order.places, np.tile(np.arange(size), 2 * k)] = 1
    lines = await shuffle.labels_to_bit_shares(
        session, np.packbits(ranks, axis=1), order.secret, label=f"{label}.back"
    )
    ranked = lines.map(
        lambda part: np.unpackbits(part, axis=1, count=size).reshape(k, 2, size, size)
    )
    free = matched.map(lambda part: np.bitwise_xor.reduce(part, axis=1))
    free = free.add_public(np.ones(1, dtype=np.uint8))
    free_rows = await both(session, ranked[:, 0], free[:, :, None], label=f"{label}.free")
    pairs = await matrix_product(
        session,
        ranked[:, 1],
        free_rows.map(lambda part: np.ascontiguousarray(part.swapaxes(1, 2))),
        label=f"{label}.pairs",
    )
    made = matched + pairs
    return await b2a.bits_to_arithmetic(session, made, label=f"{label}.matching", dtype=word)


def cost(nodes: int, shape: ForestShape) -> Cost:
    """The cost of completion."""
    k, size, word = shape.weightings, shape.size, shape.word
    total = ordering.cost(nodes, 2 * k, size, 1, word, bits=_key_bits(size), changed=False)
    lines = (2 * k * size, _line_bytes(size))
    total = total.then(shuffle.cost_to_shares(nodes, lines, np.dtype(np.uint8)))
    one = bit_products.cost(nodes, k * size**2)
    return total.then(one).then(one).then(b2a.cost(nodes, k * size**2, word))
