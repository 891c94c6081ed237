"""An arithmetic share as two operands in bits, and their first AND, in one round.

x = (x0 + x1) + x2: node 0 knows u = x0 + x1, nodes 1 and 2 know v = x2. In bits, v needs no
message, since it is a component already; u is shared by node 0. What the carry of u + v needs
first, g = u & v, is made in the same round: nodes 1 and 2 know v, so each can multiply the
component of u that it shares with node 0 before u itself has arrived.

::

    0 -> 1, 2   u2 = u ^ s ^ t            s: key of 2 and 0, t: key of 0 and 1
    1 -> 2      (t & v) ^ G1              G1: key of 0 and 1
    2 -> 1      (s & v) ^ G0              G0: key of 2 and 0

Then g has the components G0, G1 and u2&v ^ s&v ^ t&v ^ G0 ^ G1. 1 round; node 0 sends two bits
per bit, nodes 1 and 2 one each. Nobody learns anything: each message is masked by a key that its
receiver does not have. After [mohassel2018, Section 5.3], with sharing and product merged.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.mpc.cost import Cost
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


@dataclass(frozen=True, slots=True)
class Operands:
    """Shares of g = u & v and p = u ^ v, plane by plane: what a carry is made of."""

    generate: BitShare
    propagate: BitShare


def known_part(session: Session, x: ArithmeticShare) -> Words:
    """The operand this node knows: x0 + x1 at node 0, x2 at nodes 1 and 2."""
    if session.me == 0:
        known: Words = x.mine + x.next
        return known
    return x.component(2, me=session.me)


def cost(words: int) -> Cost:
    """The cost for this many words of bits in all planes together."""
    size = 8 * words
    return Cost.of(1, [size, size], [size], [size])


async def share_operands(session: Session, known: Words, *, label: str) -> Operands:
    """Shares of the generate and propagate bits, from the planes that each node knows.

    >>> import numpy as np
    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import reconstruct
    >>> known = [np.array([[k]], dtype=np.uint64) for k in (6, 3, 3)]
    >>> run = run_parties(lambda s: share_operands(s, known[s.me], label="o"))
    >>> reconstruct([o.generate for o in run.results]).item()
    2
    >>> reconstruct([o.propagate for o in run.results]).item()
    5
    """
    shape = known.shape
    if session.me == 0:
        s, t = session.words(f"{label}.u", 0, shape), session.words(f"{label}.u", 1, shape)
        masked = known ^ s
        masked ^= t
        await session.send(1, masked)
        await session.send(2, masked)
        g0, g1 = session.words(f"{label}.g", 0, shape), session.words(f"{label}.g", 1, shape)
        return Operands(BitShare(g0, g1), BitShare(s, t))
    # Nodes 1 and 2 do the same with what each has in common with node 0.
    other = 3 - session.me
    common = 1 if session.me == 1 else 0
    u = session.words(f"{label}.u", common, shape)
    g = session.words(f"{label}.g", common, shape)
    ours = u & known
    ours ^= g
    await session.send(other, ours)
    masked = await session.receive(0, shape)
    product = masked & known
    product ^= ours
    product ^= await session.receive(other, shape)
    return Operands(
        session.bit_share({common: g, 2: product}),
        session.bit_share({common: u, 2: masked ^ known}),
    )
