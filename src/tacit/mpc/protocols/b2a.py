"""Bit to arithmetic: an XOR-shared bit as a share in the ring, in one round.

A bit c = e ^ c2 with e = c0 ^ c1, which node 0 knows, and c2, which nodes 1 and 2 know. Over the
integers c = e + c2 - 2*e*c2. Node 0 shares e, and the product with c2 is made in the same round
as in `operands`, here in the ring. 1 round; node 0 sends two words per bit, nodes 1 and 2 one
each. Nobody learns anything. After [mohassel2018, Section 5.4].

::

    0 -> 1, 2   e2 = e - s - t            s: key of 2 and 0, t: key of 0 and 1
    1 -> 2      t*c2 - G1                 G1: key of 0 and 1
    2 -> 1      s*c2 - G0                 G0: key of 2 and 0
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

_TWO = np.uint64(2)


def cost(n: int) -> Cost:
    """The cost for n bits."""
    return Cost.of(1, [8 * n, 8 * n], [8 * n], [8 * n])


async def bits_to_arithmetic(session: Session, bits: BitShare, *, label: str) -> ArithmeticShare:
    """Shares of 0 or 1 in the ring, from XOR shares of 0 or 1 (one bit per element).

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> c = deal_bits(np.array([1, 0], dtype=np.uint8))
    >>> reveal(run_parties(lambda s: bits_to_arithmetic(s, c[s.me], label="b2a")).results)
    array([1, 0])
    """
    one = np.uint8(1)
    shape = bits.shape
    if session.me == 0:
        e = ((bits.mine ^ bits.next) & one).astype(np.uint64)
        s, t = session.words(f"{label}.e", 0, shape), session.words(f"{label}.e", 1, shape)
        masked = e - s - t
        await session.send(1, masked)
        await session.send(2, masked)
        g0, g1 = session.words(f"{label}.g", 0, shape), session.words(f"{label}.g", 1, shape)
        return ArithmeticShare(s - _TWO * g0, t - _TWO * g1)
    other = 3 - session.me
    common = 1 if session.me == 1 else 0
    c2: Words = (bits.component(2, me=session.me) & one).astype(np.uint64)
    e_common = session.words(f"{label}.e", common, shape)
    g_common = session.words(f"{label}.g", common, shape)
    ours = e_common * c2 - g_common
    await session.send(other, ours)
    masked = await session.receive(0, shape)
    product = masked * c2 + ours + await session.receive(other, shape)
    return session.share({common: e_common - _TWO * g_common, 2: masked + c2 - _TWO * product})
