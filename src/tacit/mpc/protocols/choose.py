"""A shared number, or zero: an XOR-shared bit times a number that is shared in the ring.

The bit is e ^ f and the number u + v, where e and u are the operands that some nodes know, f and v
those that others know (see `halves`). Over the integers

::

    (e ^ f)(u + v) = eu + fv + e(v - 2fv) + f(u - 2eu)

Those who know e and u share e, u - 2eu and eu; the others f, v - 2fv and fv; one product of each
two follows. 2 rounds, one less than turning the bit into a number first. Nobody learns anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD
from tacit.mpc.protocols.halves import HALVES, half_letters, half_pairs, known_part, share_halves
from tacit.mpc.protocols.pairwise import known_pairs, reshare, reshare_letters
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

_TERMS = 3


def cost(nodes: int, n: int, dtype: np.dtype[Any] = WORD) -> Cost:
    """The cost for n numbers in a ring of these words."""
    return Cost.of(
        nodes,
        half_letters(nodes, (_TERMS, n), dtype),
        reshare_letters(nodes, (n,), dtype, pairs=half_pairs(nodes)),
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
    dtype = x.dtype
    bit = (known_part(session, bits) & np.uint8(1)).astype(dtype)
    number = known_part(session, x)
    both = bit * number
    terms = np.stack([bit, number - dtype.type(2) * both, both])
    u, v = await share_halves(session, terms, ArithmeticShare, label=f"{label}.terms")
    first, pairs = HALVES[session.nodes][0], half_pairs(session.nodes)
    parts = {}
    for i, j in known_pairs(pairs, session.me):
        a, b = (i, j) if i in first else (j, i)
        parts[i, j] = u[a][0] * v[b][1] + u[a][1] * v[b][0]
    product = await reshare(
        session,
        parts,
        ArithmeticShare,
        bit.shape,
        label=f"{label}.product",
        dtype=dtype,
        pairs=pairs,
    )
    shared = {**u, **v}
    return ArithmeticShare({c: shared[c][2] + part for c, part in product.parts.items()})
