"""AND on bit planes: 64 gates per word and operation [araki2016, Section 2].

The multiplication of the field of two elements: parts, a fresh XOR sharing of zero, and one
message. 1 round; every node sends one word per word of the result. Nobody learns anything.
"""

from __future__ import annotations

from tacit.mpc.cost import Cost
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import BitShare


def and_part(x: BitShare, y: BitShare) -> Words:
    """A node's part of x & y; the three parts XOR to it. No message, and not yet blinded."""
    part: Words = y.mine ^ y.next
    part &= x.mine
    part ^= x.next & y.mine
    return part


async def pass_on(session: Session, blinded: Words) -> BitShare:
    """From blinded XOR parts, one at each node, to replicated shares. 1 round, one word per word.

    >>> import numpy as np
    >>> from tacit.mpc.local import run_parties
    >>> one = np.ones(1, dtype=np.uint64)
    >>> run_parties(lambda s: pass_on(s, one)).rounds
    1
    """
    await session.send(session.previous, blinded)
    return BitShare(blinded, await session.receive(session.next, blinded.shape))


def cost(words: int) -> Cost:
    """The cost of an AND of this many words."""
    return Cost.of(1, [8 * words], [8 * words], [8 * words])


async def and_bits(session: Session, x: BitShare, y: BitShare, *, label: str) -> BitShare:
    """Shares of x & y.

    >>> import numpy as np
    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> x, y = (deal_bits(np.array([v], dtype=np.uint64)) for v in (6, 3))
    >>> reconstruct(run_parties(lambda s: and_bits(s, x[s.me], y[s.me], label="and")).results)
    array([2], dtype=uint64)
    """
    part = and_part(x, y)
    return await pass_on(session, part ^ session.zero_xor(f"{label}.zero", part.shape))
