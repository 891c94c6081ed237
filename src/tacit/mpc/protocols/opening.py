"""Opening a shared value: to all nodes, or to the coordinator alone.

*To the nodes* [araki2016, Section 2]: each node sends the one component that its successor lacks.
1 round, one word per entry from every node. The nodes learn the value and nothing else, since the
missing component follows from the value and what they hold.

*To the coordinator*: node 0 sends x0 + x1 + z and node 1 sends x2 - z, with z from the key of
nodes 0 and 1. 1 round, one word per entry from nodes 0 and 1. The coordinator learns the value;
z hides the components from it, so that it and one node together learn no more. The nodes learn
nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, BitShare, Share


async def open_to_nodes(session: Session, x: Share) -> NDArray[Any]:
    """The value, at every node.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([7])
    >>> run_parties(lambda s: open_to_nodes(s, x[s.me])).results[2]
    array([7], dtype=uint64)
    """
    await session.send(session.next, x.mine)
    missing = await session.receive(session.previous, x.shape, x.mine.dtype)
    if isinstance(x, BitShare):
        bits: NDArray[Any] = x.mine ^ x.next ^ missing
        return bits
    value: NDArray[Any] = x.mine + x.next + missing
    return value


def cost_to_nodes(n: int, *, itemsize: int = 8) -> Cost:
    """The cost of opening n entries to the nodes."""
    size = n * itemsize
    return Cost.of(1, [size], [size], [size])


async def open_to_coordinator(session: Session, x: Share, *, label: str) -> None:
    """A node's side: send a masked part, if this node has one to send.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([7])
    >>> run_parties(
    ...     lambda s: open_to_coordinator(s, x[s.me], label="out"),
    ...     lambda s: receive_opened(s, 1),
    ... ).coordinator
    array([7], dtype=uint64)
    """
    if session.me == 2:
        return
    z = session.words(f"{label}.z", 1, x.shape, x.mine.dtype)
    if isinstance(x, BitShare):
        part = x.mine ^ x.next ^ z if session.me == 0 else x.next ^ z
    else:
        part = x.mine + x.next + z if session.me == 0 else x.next - z
    await session.send(COORDINATOR, part)


async def receive_opened(
    session: Session,
    n: int,
    *,
    dtype: DTypeLike = np.uint64,
    xor: bool = False,
) -> NDArray[Any]:
    """The coordinator's side: the values, from what nodes 0 and 1 sent.

    >>> from tacit.mpc.shares import deal_bits
    >>> from tacit.mpc.local import run_parties
    >>> x = deal_bits(np.array([1, 0], dtype=np.uint8))
    >>> run_parties(
    ...     lambda s: open_to_coordinator(s, x[s.me], label="out"),
    ...     lambda s: receive_opened(s, 2, dtype=np.uint8, xor=True),
    ... ).coordinator
    array([1, 0], dtype=uint8)
    """
    first = await session.receive(0, n, dtype)
    second = await session.receive(1, n, dtype)
    values: NDArray[Any] = first ^ second if xor else first + second
    return values


def cost_to_coordinator(n: int, *, itemsize: int = 8) -> Cost:
    """The cost of opening n entries to the coordinator."""
    return Cost.of(1, [n * itemsize], [n * itemsize], [])
