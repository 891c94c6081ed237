"""Bit to arithmetic: an XOR-shared bit as a share in the ring.

A bit is u ^ v, where u is the XOR of the components of one operand and v of the other's (see
`halves`). Over the integers u ^ v = u + v - 2uv: those who know u and v share them in the ring, and
one product follows. 2 rounds. Nobody learns anything. After [mohassel2018, Section 5.4].
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


def cost(nodes: int, n: int, *, itemsize: int = WORD.itemsize) -> Cost:
    """The cost for n bits."""
    word = np.dtype(f"u{itemsize}")
    return Cost.of(
        nodes,
        half_letters(nodes, (n,), word),
        reshare_letters(nodes, (n,), word, pairs=half_pairs(nodes)),
    )


async def bits_to_arithmetic(
    session: Session, bits: BitShare, *, label: str, dtype: np.dtype[Any] = WORD
) -> ArithmeticShare:
    """Shares of 0 or 1 in the ring, from XOR shares of 0 or 1 (one bit per element).

    The ring is that of the words of `dtype`.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.shares import deal_bits
    >>> c = deal_bits(np.array([1, 0], dtype=np.uint8))
    >>> reveal(run_parties(lambda s: bits_to_arithmetic(s, c[s.me], label="b2a")).results)
    array([1, 0])
    """
    known = (known_part(session, bits) & np.uint8(1)).astype(dtype)
    u, v = await share_halves(session, known, ArithmeticShare, label=f"{label}.bits")
    first = HALVES[session.nodes][0]
    pairs = half_pairs(session.nodes)
    parts = {}
    for i, j in known_pairs(pairs, session.me):
        a, b = (i, j) if i in first else (j, i)
        parts[i, j] = u[a] * v[b]
    product = await reshare(
        session,
        parts,
        ArithmeticShare,
        known.shape,
        label=f"{label}.product",
        dtype=dtype,
        pairs=pairs,
    )
    both, two = {**u, **v}, dtype.type(2)
    return ArithmeticShare({c: both[c] - two * part for c, part in product.parts.items()})
