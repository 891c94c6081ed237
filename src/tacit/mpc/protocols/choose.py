"""A shared number, or zero: an XOR-shared bit times a number that is shared in the ring.

The bit is e ^ f and the number u + v, where e and u are the operands that some nodes know, f and v
those that others know (see `halves`). Over the integers

::

    (e ^ f)(u + v) = eu + fv + e(v - 2fv) + f(u - 2eu)

Those who know e and u share e, u - 2eu and eu; the others f, v - 2fv and fv; one product of each
two follows. 2 rounds, one less than turning the bit into a number first. Nobody learns anything.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.protocols.halves import HALVES, half_letters, half_pairs, known_part, share_halves
from tacit.mpc.protocols.pairwise import known_pairs, reshare, reshare_letters
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

_TWO = np.uint64(2)
_TERMS = 3


def cost(nodes: int, n: int) -> Cost:
    """The cost for n numbers."""
    return Cost.of(
        nodes,
        half_letters(nodes, (_TERMS, n)),
        reshare_letters(nodes, (n,), pairs=half_pairs(nodes)),
    )


async def choose(
    session: Session, bits: BitShare, x: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Shares of x where the bit is 1, and of 0 elsewhere (one bit per element).

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> c, x = deal_bits(np.array([1, 0], dtype=np.uint8)), deal_integers([-7, 5])
    >>> reveal(run_parties(lambda s: choose(s, c[s.me], x[s.me], label="c")).results)
    array([-7,  0])
    """
    bit = (known_part(session, bits) & np.uint8(1)).astype(np.uint64)
    number = known_part(session, x)
    both = bit * number
    terms = np.stack([bit, number - _TWO * both, both])
    u, v = await share_halves(session, terms, ArithmeticShare, label=f"{label}.terms")
    first, pairs = HALVES[session.nodes][0], half_pairs(session.nodes)
    parts = {}
    for i, j in known_pairs(pairs, session.me):
        a, b = (i, j) if i in first else (j, i)
        parts[i, j] = u[a][0] * v[b][1] + u[a][1] * v[b][0]
    product = await reshare(
        session, parts, ArithmeticShare, bit.shape, label=f"{label}.product", pairs=pairs
    )
    shared = {**u, **v}
    return ArithmeticShare({c: shared[c][2] + part for c, part in product.parts.items()})
