"""Products of shared bits, one per byte in memory and eight per byte on the way.

AND entry by entry, and products of matrices modulo 2. 1 round, one bit per pair of components and
entry of the result. Nobody learns anything: what arrives is masked as in any product (`pairwise`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols.pairwise import product_parts, reshare, reshare_letters
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare

Bits = NDArray[np.uint8]
_BYTE = np.dtype(np.uint8)
_AT_ONCE = 1 << 20
"""Words of a product of matrices that are made at once."""


async def both(session: Session, x: BitShare, y: BitShare, *, label: str) -> BitShare:
    """Shares of x & y; shapes are broadcast as in NumPy. 1 round.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> x, y = (deal_bits(np.array(v, dtype=np.uint8)) for v in ([[1], [0]], [[1, 0]]))
    >>> reconstruct(run_parties(lambda s: both(s, x[s.me], y[s.me], label="and")).results)
    array([[1, 0],
           [0, 0]], dtype=uint8)
    """
    return await _product(session, x, y, np.bitwise_and, label)


async def matrix_product(session: Session, x: BitShare, y: BitShare, *, label: str) -> BitShare:
    """Shares of the product of matrices modulo 2, or of many such products. 1 round.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> x = deal_bits(np.array([[1, 1], [0, 1]], dtype=np.uint8))
    >>> reconstruct(run_parties(lambda s: matrix_product(s, x[s.me], x[s.me], label="p")).results)
    array([[1, 0],
           [0, 1]], dtype=uint8)
    """
    return await _product(session, x, y, multiplied, label)


async def _product(
    session: Session, x: BitShare, y: BitShare, op: Callable[[Bits, Bits], Bits], label: str
) -> BitShare:
    # Components of a byte may have more bits than the one that counts.
    parts = product_parts(session, x.map(_lowest), y.map(_lowest), op)
    shape = next(iter(parts.values())).shape
    packed = {pair: np.packbits(part) for pair, part in parts.items()}
    size = _bytes_of(int(np.prod(shape)))
    made = await reshare(session, packed, BitShare, (size,), label=label, dtype=_BYTE)
    count = int(np.prod(shape))
    return made.map(lambda part: np.unpackbits(part, count=count).reshape(shape))


def _lowest(part: Bits) -> Bits:
    return part & np.uint8(1)


def multiplied(a: Bits, b: Bits) -> Bits:
    """The product of 0/1 matrices modulo 2, 64 entries per word.

    >>> multiplied(np.ones((1, 3), dtype=np.uint8), np.ones((3, 2), dtype=np.uint8))
    array([[1, 1]], dtype=uint8)
    """
    columns = b.shape[-1]
    words = -(-columns // 64)
    padded = np.zeros((*b.shape[:-1], 64 * words), dtype=np.uint8)
    padded[..., :columns] = b
    lines = np.packbits(padded, axis=-1).view(np.uint64)  # ..., middle, words
    lines = np.ascontiguousarray(np.swapaxes(lines, -1, -2))[..., None, :, :]
    chosen = np.negative(a.astype(np.uint64))[..., :, None, :]  # all ones where a is 1
    step = max(1, _AT_ONCE // max(1, lines.size))
    made: NDArray[Any] = np.concatenate(
        [
            np.bitwise_xor.reduce(chosen[..., at : at + step, :, :] & lines, axis=-1)
            for at in range(0, a.shape[-2], step)
        ],
        axis=-2,
    )
    bits: Bits = np.unpackbits(np.ascontiguousarray(made).view(np.uint8), axis=-1, count=columns)
    return bits


def _bytes_of(bits: int) -> int:
    return -(-bits // 8)


def cost(nodes: int, bits: int) -> Cost:
    """The cost of a product with this many bits in the result."""
    return Cost.of(nodes, reshare_letters(nodes, (_bytes_of(bits),), _BYTE))
