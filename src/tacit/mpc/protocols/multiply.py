"""Multiplication, inner product and matrix product of shared values [araki2016, Section 2].

Each node multiplies what it holds, which gives three additive parts of the product, blinds its
part with a fresh sharing of zero and passes it to the node before it. 1 round; every node sends
one word per entry of the result. Nobody learns anything: what arrives is blinded by a key that
the receiver does not have.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


async def reshare_sum(session: Session, part: NDArray[Any], *, label: str) -> ArithmeticShare:
    """From additive parts, one at each node, to replicated shares of their sum. 1 round.

    >>> import numpy as np
    >>> from tacit.mpc.local import reveal, run_parties
    >>> parts = [np.array([p], dtype=np.uint64) for p in (1, 2, 3)]
    >>> reveal(run_parties(lambda s: reshare_sum(s, parts[s.me], label="sum")).results)
    array([6])
    """
    mine = part + session.zero_sum(f"{label}.zero", part.shape, part.dtype)
    await session.send(session.previous, mine)
    return ArithmeticShare(mine, await session.receive(session.next, mine.shape, mine.dtype))


def cost(n: int, *, itemsize: int = 8) -> Cost:
    """The cost of any of these products with n entries in the result."""
    size = itemsize * n
    return Cost.of(1, [size], [size], [size])


async def multiply(
    session: Session, x: ArithmeticShare, y: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Shares of x * y, entry by entry.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> x = deal_integers([3, -4])
    >>> reveal(run_parties(lambda s: multiply(s, x[s.me], x[s.me], label="square")).results)
    array([ 9, 16])
    """
    part = x.mine * (y.mine + y.next) + x.next * y.mine
    return await reshare_sum(session, part, label=label)
