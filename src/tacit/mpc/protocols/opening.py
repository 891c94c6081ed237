"""Opening a shared value: to all nodes, or to the coordinator alone.

*To the nodes*: each node gets the one component that it lacks, from all others.

*To the coordinator*: it gets the sum of components 0 and 1 from the nodes that hold both, and the
sum of the others from nodes 0 and 1. Where the nodes are *told* the value too, both openings happen
in one round.

Learns   to the nodes: the value and nothing else, since the missing component follows from the
         value and what a node holds. To the coordinator: the value, and nothing more together
         with one node either: that node knows one of the two sums, and the other follows from the
         value; the nodes learn nothing
Rounds   1
Bytes    to the nodes 8 (four nodes: 8), to the coordinator 8 (4), to both 16 (12)
Paper    [araki2016, Section 2] with three nodes, [dalskov2021] with four
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter, outside
from tacit.mpc.protocols.halves import HALVES
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, ArithmeticShare, Array, BitShare, Share, total


def node_letters(nodes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Letter]:
    return [Letter(outside(nodes, node), node, shape, dtype) for node in range(nodes)]


async def open_to_nodes(session: Session, x: Share) -> Array:
    """The value, at every node.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([7])
    >>> run_parties(lambda s: open_to_nodes(s, x[s.me])).results[2]
    array([7], dtype=uint64)
    """
    # An opening carries no mask. Before all nodes agree, one in another state would be told a
    # second value that shares its masks with the first.
    await session.meet()
    letters = node_letters(session.nodes, x.shape, x.dtype)
    missing = (await session.exchange(letters, x.parts))[session.me]
    return total([*x.parts.values(), missing], x.plus)


def cost_to_nodes(nodes: int, n: int, *, itemsize: int = 8) -> Cost:
    return Cost.of(nodes, node_letters(nodes, (n,), np.dtype(f"u{itemsize}")))


def coordinator_letters(nodes: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Letter]:
    """The letters to the coordinator: one for each half of the components."""
    return [Letter(outside(nodes, *half), COORDINATOR, shape, dtype) for half in HALVES[nodes]]


async def disclose(session: Session, x: Share, *, told: bool = False) -> Array | None:
    """A node's side of opening to the coordinator; where the nodes are told too, the value.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> x = deal_integers([7])
    >>> run_parties(
    ...     lambda s: disclose(s, x[s.me]),
    ...     lambda s: receive_opened(s, 1),
    ... ).coordinator
    array([7], dtype=uint64)
    """
    halves = HALVES[session.nodes]
    letters = coordinator_letters(session.nodes, x.shape, x.dtype)
    contents = {
        number: total([x.parts[c] for c in half], x.plus)
        for number, half in enumerate(halves)
        if session.me not in half
    }
    if told:
        await session.meet()
        letters += node_letters(session.nodes, x.shape, x.dtype)
        contents |= {len(halves) + c: part for c, part in x.parts.items()}
    arrived = await session.exchange(letters, contents)
    return total([*x.parts.values(), *arrived.values()], x.plus) if told else None


async def receive_opened(
    session: Session,
    shape: int | tuple[int, ...],
    *,
    dtype: DTypeLike = np.uint64,
    xor: bool = False,
) -> Array:
    """The coordinator's side: the values.

    >>> from tacit.mpc.shares import deal_bits
    >>> from tacit.mpc.local import run_parties
    >>> x = deal_bits(np.array([1, 0], dtype=np.uint8))
    >>> run_parties(
    ...     lambda s: disclose(s, x[s.me]),
    ...     lambda s: receive_opened(s, 2, dtype=np.uint8, xor=True),
    ... ).coordinator
    array([1, 0], dtype=uint8)
    """
    size = (shape,) if isinstance(shape, int) else shape
    arrived = await session.exchange(coordinator_letters(session.nodes, size, np.dtype(dtype)), {})
    return total(arrived.values(), BitShare.plus if xor else ArithmeticShare.plus)


def cost_to_coordinator(nodes: int, n: int, *, itemsize: int = 8, told: bool = False) -> Cost:
    """The cost of opening n entries to the coordinator, and to the nodes if they are told."""
    word = np.dtype(f"u{itemsize}")
    also = node_letters(nodes, (n,), word) if told else []
    return Cost.of(nodes, [*coordinator_letters(nodes, (n,), word), *also])
