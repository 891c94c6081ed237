"""Public labels at shuffled positions, brought back to the original ones.

All nodes know the labels L of the shuffled positions; which original position each belongs to
must stay hidden from them. Node 2 undoes passes 3 and 2 by itself, which gives l; only the
permutation q of nodes 0 and 1 is left to undo.

*To the coordinator*: node 2 masks l with a (from the key of 2 and 0) and sends b = l ^ a to node
1; nodes 0 and 1 undo q and send the coordinator q(a ^ z) and q(b ^ z), with z from their key.
2 rounds; nodes 2, 1, 0 send n labels each. The coordinator learns the labels in the original
order; the nodes learn nothing. Without z, the coordinator and node 2 together would learn q.

*To replicated shares* in 1 round, with r0, m1 from the key of 2 and 0 and r2, m0 from that of 1
and 2: nobody learns anything.

::

    2 -> 0   l - m0           1 -> 0   q(m0) - r2
    2 -> 1   l - m1           0 -> 1   q(m1) - r0

Components 0 and 2 are r0 and r2, and nodes 0 and 1 both find q(l) - r0 - r2. Node 2 sends 2n
words, the others n. Both are steps of [araki2021] for an input that is public.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols.shuffle import SecretPermutation
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, ArithmeticShare

Labels = NDArray[np.uint32]


def _undo_two(order: SecretPermutation, labels: NDArray[Any]) -> NDArray[Any]:
    return order.apply(0, order.apply(2, labels, back=True), back=True)


async def labels_to_coordinator(
    session: Session, labels: Labels, order: SecretPermutation, *, label: str
) -> None:
    """A node's side of sending the coordinator the labels in the original order.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.protocols.shuffle import draw_order
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     await labels_to_coordinator(s, np.array([6], np.uint32), order, label="out")
    >>> run_parties(node, lambda s: receive_labels(s, 1)).coordinator
    array([6], dtype=uint32)
    """
    n = len(labels)
    if session.me == 2:
        a = session.words(f"{label}.a", 0, n, np.uint32)
        await session.send(1, _undo_two(order, labels) ^ a)
        return
    if session.me == 0:
        part = session.words(f"{label}.a", 0, n, np.uint32)
    else:
        part = await session.receive(2, n, np.uint32)
    z = session.words(f"{label}.z", 1, n, np.uint32)
    await session.send(COORDINATOR, order.apply(1, part ^ z, back=True))


async def receive_labels(session: Session, n: int) -> Labels:
    """The coordinator's side: the labels in the original order.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.protocols.shuffle import draw_order
    >>> async def node(s):
    ...     order = draw_order(s, 2, label="o")
    ...     await labels_to_coordinator(s, np.array([6, 6], np.uint32), order, label="out")
    >>> run_parties(node, lambda s: receive_labels(s, 2)).coordinator
    array([6, 6], dtype=uint32)
    """
    first = await session.receive(0, n, np.uint32)
    labels: Labels = first ^ await session.receive(1, n, np.uint32)
    return labels


def cost_to_coordinator(n: int) -> Cost:
    """The cost of n labels to the coordinator."""
    return Cost.of(2, [4 * n], [4 * n], [4 * n])


async def labels_to_shares(
    session: Session, labels: Words, order: SecretPermutation, *, label: str
) -> ArithmeticShare:
    """Replicated shares of the labels in the original order.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.protocols.shuffle import draw_order
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     return await labels_to_shares(s, np.array([6], np.uint64), order, label="out")
    >>> reveal(run_parties(node).results)
    array([6])
    """
    n = len(labels)
    me = session.me
    key = {0: 0, 1: 2}  # what node 0 shares with node 2 is component 0; node 1, component 2
    if me == 2:
        undone = _undo_two(order, labels)
        # Node 0's message is masked by what 1 and 2 share, and the other way round.
        await session.send(0, undone - session.words(f"{label}.m", 2, n))
        await session.send(1, undone - session.words(f"{label}.m", 0, n))
        return session.share({c: session.words(f"{label}.r", c, n) for c in (2, 0)})
    other = 1 - me
    mask, fresh = (session.words(f"{label}.{name}", key[me], n) for name in ("m", "r"))
    await session.send(other, order.apply(1, mask, back=True) - fresh)
    masked = order.apply(1, await session.receive(2, n), back=True)
    rest = masked + await session.receive(other, n) - fresh
    return session.share({key[me]: fresh, 1: rest})


def cost_to_shares(n: int) -> Cost:
    """The cost of n labels to shares."""
    return Cost.of(1, [8 * n], [8 * n], [8 * n, 8 * n])
