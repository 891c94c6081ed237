"""Arithmetic to boolean: the bits of shared numbers as XOR-shared planes.

Adds the two operands of `operands` with a parallel prefix adder [sklansky1960]: level k doubles
the reach of the carries. 1 + ceil(log2(bits - 1)) rounds for bits > 2; per number about
bits * log2(bits) bits from every node. Nobody learns anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import plane_words, to_planes
from tacit.mpc.protocols import bit_and, operands
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


def _reach(level: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The positions that take a carry over at this level, and where each takes it from."""
    high = np.array([k for k in range(count) if k >> level & 1], dtype=np.intp)
    return high, ((high >> level) << level) - 1


def _levels(count: int) -> int:
    return max(0, count - 1).bit_length()


def cost(n: int, *, bits: int) -> Cost:
    """The cost for n numbers.

    >>> cost(1, bits=64).rounds
    7
    """
    words = plane_words(n)
    if bits == 1 or not words:
        return operands.cost(bits * words) if words else Cost.free()
    total = operands.cost(bits * words)
    for level in range(_levels(bits - 1)):
        high, low = _reach(level, bits - 1)
        total = total.then(bit_and.cost((len(high) + int((low >= 1 << level).sum())) * words))
    return total


async def arithmetic_to_bits(
    session: Session, x: ArithmeticShare, *, bits: int, label: str
) -> BitShare:
    """XOR shares of the lowest bits of x, as planes of shape (bits, words).

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> from tacit.mpc.planes import from_planes
    >>> from tacit.mpc.shares import reconstruct
    >>> x = deal_integers([5, -1])
    >>> run = run_parties(lambda s: arithmetic_to_bits(s, x[s.me], bits=4, label="a2b"))
    >>> from_planes(reconstruct(run.results), 2)
    array([ 5, 15], dtype=uint64)
    """
    if not len(x):
        empty = np.zeros((bits, 0), dtype=np.uint64)
        return BitShare(empty, empty)
    planes = to_planes(operands.known_part(session, x), bits=bits)
    first = await operands.share_operands(session, planes, label=label)
    g = BitShare(first.generate.mine.copy(), first.generate.next.copy())
    p = BitShare(first.propagate.mine.copy(), first.propagate.next.copy())
    for level in range(_levels(bits - 1)):
        high, low = _reach(level, bits - 1)
        # Groups that begin at bit 0 need no propagate bit any more.
        wide = low >= 1 << level
        part = np.concatenate(
            [bit_and.and_part(p[high], g[low]), bit_and.and_part(p[high[wide]], p[low[wide]])]
        )
        product = await bit_and.reshare_xor(session, part, label=f"{label}.{level}")
        for new, g_planes, p_planes in (
            (product.mine, g.mine, p.mine),
            (product.next, g.next, p.next),
        ):
            g_planes[high] ^= new[: len(high)]
            p_planes[high[wide]] = new[len(high) :]
    # Bit k of the sum is its own propagate bit and the carry out of the bits below.
    total = BitShare(first.propagate.mine.copy(), first.propagate.next.copy())
    total.mine[1:] ^= g.mine[: bits - 1]
    total.next[1:] ^= g.next[: bits - 1]
    return total
