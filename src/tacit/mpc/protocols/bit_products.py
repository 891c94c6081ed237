"""Products of shared bits, one per byte in memory and eight per byte on the way.

AND entry by entry, and products of matrices modulo 2.

Learns   nobody anything: what arrives is masked as in any product (`pairwise`)
Rounds   1
Bytes    1/8 per entry of the result (four nodes: 3/16)
Paper    [araki2016, Section 2] for the product, [arlazarov1970] for the local matrix product
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols.pairwise import product_parts, reshare, reshare_letters
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]
Factors = tuple[BitShare, BitShare, Callable[[Bits, Bits], Bits]]
"""Two factors and their bilinear operation."""
_BYTE = np.dtype(np.uint8)
_AT_ONCE = 1 << 20
"""Words of a product of matrices that are made at once."""
_MANY = 60_000
"""From so many masked words on, tables of eight lines are quicker than masks."""


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


async def products(session: Session, factors: Sequence[Factors], *, label: str) -> list[BitShare]:
    """Return shares of several products in one letter to each receiver. 1 round.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> x = deal_bits(np.array([1, 1, 0], dtype=np.uint8))
    >>> async def node(s):
    ...     one, two = [(x[s.me], x[s.me], np.bitwise_and)] * 2
    ...     return (await products(s, [one, two], label="both"))[1]
    >>> reconstruct(run_parties(node).results)
    array([1, 1, 0], dtype=uint8)
    """
    packed: dict[tuple[int, int], list[Bits]] = {}
    shapes = []
    for x, y, op in factors:
        # Components of a byte may have more bits than the one that counts.
        parts = product_parts(session, x.map(_lowest), y.map(_lowest), op)
        shapes.append(next(iter(parts.values())).shape)
        for pair, part in parts.items():
            packed.setdefault(pair, []).append(np.packbits(part))
    ends = np.cumsum([_bytes_of(math.prod(shape)) for shape in shapes]).tolist()
    whole = {pair: np.concatenate(parts) for pair, parts in packed.items()}
    made = await reshare(session, whole, BitShare, (ends[-1],), label=label, dtype=_BYTE)
    return [
        _unpacked(made, begin, end, shape)
        for begin, end, shape in zip([0, *ends], ends, shapes, strict=False)
    ]


def _unpacked(made: BitShare, begin: int, end: int, shape: tuple[int, ...]) -> BitShare:
    count = math.prod(shape)
    return made.map(lambda part: np.unpackbits(part[begin:end], count=count).reshape(shape))


async def _product(
    session: Session, x: BitShare, y: BitShare, op: Callable[[Bits, Bits], Bits], label: str
) -> BitShare:
    return (await products(session, [(x, y, op)], label=label))[0]


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
    # Which way is taken depends on public sizes alone, as does its time.
    many = a.shape[-2] * a.shape[-1] * words >= _MANY
    made = _by_tables(a, lines) if many else _by_masks(a, lines)
    bits: Bits = np.unpackbits(made.view(np.uint8), axis=-1, count=columns)
    return bits


def _by_masks(a: Bits, lines: Words) -> Words:
    """Add up the lines that are chosen, each masked by all ones or by zero."""
    across = np.ascontiguousarray(np.swapaxes(lines, -1, -2))[..., None, :, :]
    chosen = np.negative(a.astype(np.uint64))[..., :, None, :]  # all ones where a is 1
    step = max(1, _AT_ONCE // max(1, across.size))
    made = [
        np.bitwise_xor.reduce(chosen[..., at : at + step, :, :] & across, axis=-1)
        for at in range(0, a.shape[-2], step)
    ]
    return np.ascontiguousarray(np.concatenate(made, axis=-2))


def _by_tables(a: Bits, lines: Words) -> Words:
    """Look up the sum of eight lines at once, in tables of all 256 choices [arlazarov1970]."""
    middle, words = lines.shape[-2:]
    blocks = -(-middle // 8)
    padded = np.zeros((*lines.shape[:-2], 8 * blocks, words), dtype=np.uint64)
    padded[..., :middle, :] = lines
    eight = padded.reshape(-1, blocks, 8, words)
    tables = np.zeros((len(eight), blocks, 256, words), dtype=np.uint64)
    for bit in range(8):
        low, high = tables[:, :, : 1 << bit], tables[:, :, 1 << bit : 2 << bit]
        np.bitwise_xor(low, eight[:, :, bit, None], out=high)
    choices = np.packbits(a, axis=-1, bitorder="little").reshape(len(eight), -1, blocks)
    step = max(1, _AT_ONCE // max(1, blocks * words))
    made = np.empty((len(eight), choices.shape[1], words), dtype=np.uint64)
    offsets = 256 * np.arange(blocks)
    for each, table in enumerate(tables.reshape(len(eight), 256 * blocks, words)):
        for at in range(0, choices.shape[1], step):
            looked_up = table.take((choices[each, at : at + step] + offsets).T, axis=0)
            np.bitwise_xor.reduce(looked_up, axis=0, out=made[each, at : at + step])
    return made.reshape(*a.shape[:-1], words)


def _bytes_of(bits: int) -> int:
    return -(-bits // 8)


def cost(nodes: int, *bits: int) -> Cost:
    """The cost of products with so many bits in each result, all in one round."""
    return Cost.of(nodes, reshare_letters(nodes, (sum(map(_bytes_of, bits)),), _BYTE))
