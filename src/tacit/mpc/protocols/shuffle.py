"""Oblivious shuffle in stages, its inverse, and the way back to the coordinator.

The secret order is made of one permutation p_c per component, from the key that all nodes but c
have; so no node knows all of it. In stage c every holder turns its components by p_c and masks
them, with q from the key of c:

::

    m != c   x_m <- p_c(x_m) + q_m                x_c <- p_c(x_c) - sum of all q_m

Node c cannot do that. It gets each new x_m by a letter from the nodes that hold m and know p_c.
Going back, the stages are undone in the opposite order. Letters go as soon as their senders are
ready for them: 2 rounds with three nodes, 3 with four. Nobody learns anything: what node c gets is
masked by its stage's own key, which it lacks, and the masks' sum returns in the component that it
does not hold. With three nodes after [araki2021].

*Public labels* of shuffled positions go back in the same way: they begin as the component of the
first stage, which needs no letter, and all other components as zero.

*To the coordinator*: the letters of the last stage go to it in place of node c, with x_c added to
one of them, and it adds them up. It learns the rows at their original positions; with one node
together nothing more, since of the letters that node lacks one, which follows from the sum. Where
the nodes are *told* the rows too, each gets the letters that it lacks, in the same round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD, Letter
from tacit.mpc.protocols.order import SecretPermutation
from tacit.mpc.protocols.pairwise import Shape
from tacit.mpc.protocols.stages import (
    Delivery,
    Stages,
    inner_rounds,
    last_letters,
    rounds_of,
    stage_letters,
)
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, Share, total

S = TypeVar("S", bound=Share)


async def shuffle(session: Session, x: S, order: SecretPermutation, *, label: str) -> S:
    """Shares of the rows in the secret order, with fresh components; columns go along.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> from tacit.mpc.protocols.order import draw_order
    >>> x = deal_integers([[1, 10], [2, 20]])
    >>> async def node(s):
    ...     return await shuffle(s, x[s.me], draw_order(s, 2, label="o"), label="shuffle")
    >>> sorted(reveal(run_parties(node).results).tolist())
    [[1, 10], [2, 20]]
    """
    stages = Stages(session, order, type(x), label, back=False)
    stages.begin(x.parts)
    return type(x)(await stages.to_shares())


async def unshuffle(session: Session, x: S, order: SecretPermutation, *, label: str) -> S:
    """Shares of the rows at their original positions, with fresh components.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> from tacit.mpc.protocols.order import draw_order
    >>> x = deal_integers([5, 6])
    >>> async def node(s):
    ...     order = draw_order(s, 2, label="o")
    ...     mixed = await shuffle(s, x[s.me], order, label="there")
    ...     return await unshuffle(s, mixed, order, label="back")
    >>> reveal(run_parties(node).results)
    array([5, 6])
    """
    stages = Stages(session, order, type(x), label, back=True)
    stages.begin(x.parts)
    return type(x)(await stages.to_shares())


async def labels_to_shares(
    session: Session, labels: Array, order: SecretPermutation, *, label: str
) -> ArithmeticShare:
    """Replicated shares of public labels of shuffled positions, in the original order.

    >>> from tacit.mpc.local import reveal, run_parties
    >>> from tacit.mpc.protocols.order import draw_order
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     return await labels_to_shares(s, np.array([6], np.uint64), order, label="out")
    >>> reveal(run_parties(node).results)
    array([6])
    """
    stages = Stages(session, order, ArithmeticShare, label, back=True)
    stages.begin_public(labels)
    return ArithmeticShare(await stages.to_shares())


async def unshuffle_to_coordinator(
    session: Session, x: Share, order: SecretPermutation, *, label: str, told: bool = False
) -> Array | None:
    """A node's side of opening the rows at their original positions to the coordinator.

    Where the nodes are told as well, the rows are returned.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> from tacit.mpc.protocols.order import draw_order
    >>> x = deal_integers([4])
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     return await unshuffle_to_coordinator(s, x[s.me], order, label="out", told=True)
    >>> run = run_parties(node, lambda s: receive_unshuffled(s, (1,)))
    >>> run.coordinator, run.results[2]
    (array([4], dtype=uint64), array([4], dtype=uint64))
    """
    stages = Stages(session, order, type(x), label, back=True)
    stages.begin(x.parts)
    return await stages.to_coordinator(told=told)


async def labels_to_coordinator(
    session: Session, labels: Array, order: SecretPermutation, *, label: str, told: bool = False
) -> Array | None:
    """A node's side of sending the coordinator public labels in the original order.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.protocols.order import draw_order
    >>> async def node(s):
    ...     order = draw_order(s, 2, label="o")
    ...     await labels_to_coordinator(s, np.array([6, 6], np.uint32), order, label="out")
    >>> run_parties(
    ...     node, lambda s: receive_unshuffled(s, (2,), dtype=np.uint32, xor=True)
    ... ).coordinator
    array([6, 6], dtype=uint32)
    """
    stages = Stages(session, order, BitShare, label, back=True)
    stages.begin_public(labels)
    return await stages.to_coordinator(told=told)


async def receive_unshuffled(
    session: Session, shape: Shape, *, dtype: DTypeLike = np.uint64, xor: bool = False
) -> Array:
    """The coordinator's side: the rows at their original positions.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.protocols.order import draw_order
    >>> from tacit.mpc.shares import deal_bits
    >>> x = deal_bits(np.array([[1, 2]], dtype=np.uint8))
    >>> async def node(s):
    ...     order = draw_order(s, 1, label="o")
    ...     await unshuffle_to_coordinator(s, x[s.me], order, label="out")
    >>> run_parties(
    ...     node, lambda s: receive_unshuffled(s, (1, 2), dtype=np.uint8, xor=True)
    ... ).coordinator
    array([[1, 2]], dtype=uint8)
    """
    letters = last_letters(session.nodes, shape, np.dtype(dtype), told=False)
    arrived = await session.exchange([letter for _, letter in letters], {})
    return total(arrived.values(), BitShare.plus if xor else ArithmeticShare.plus)


def cost(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> Cost:
    """The cost of a shuffle of rows."""
    return _cost_of(nodes, rounds_of(nodes, False, False), False, shape, dtype)


def cost_back(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> Cost:
    """The cost of bringing rows back to their original positions as shares."""
    return _cost_of(nodes, rounds_of(nodes, True, False), True, shape, dtype)


def first_letters(nodes: int, shape: Shape, dtype: np.dtype[Any] = WORD) -> list[Letter]:
    """The letters of the first round of a shuffle."""
    return stage_letters(nodes, rounds_of(nodes, False, False)[0], False, shape, dtype)


def cost_to_shares(nodes: int, n: int) -> Cost:
    """The cost of n public labels to shares."""
    return _cost_of(nodes, rounds_of(nodes, True, True), True, (n,), WORD)


def cost_to_coordinator(
    nodes: int, shape: Shape, dtype: np.dtype[Any], *, public: bool, told: bool
) -> Cost:
    """The cost of opening rows, or public labels, at their original positions."""
    inner = _cost_of(nodes, inner_rounds(nodes, public), True, shape, dtype)
    last = [letter for _, letter in last_letters(nodes, shape, dtype, told=told)]
    return inner.then(Cost.of(nodes, last))


def _cost_of(
    nodes: int,
    rounds: Sequence[Sequence[Delivery]],
    back: bool,
    shape: Shape,
    dtype: np.dtype[Any],
) -> Cost:
    return Cost.of(nodes, *(stage_letters(nodes, each, back, shape, dtype) for each in rounds))
