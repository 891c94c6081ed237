"""The loss of one of four nodes, and its return: shares for those left, and back for all.

*Loss*: each node that is left adds the lost node's component to that of the first one left; the
others stay as they are, and are numbered by the position of their node among those left.

::

    y_first = x_first + x_lost          node i of those left lacks y_i, as with three nodes

From then on nobody vouches for anybody: three nodes trust each other to follow the protocol.

*Return* (`hand_over`), with d the node that is back and y_m the component that node m of those left
lacks: stage d of a shuffle without its permutation.

::

    x_m = y_m + q_m   for m other than d        q_m from key d, which all but d hold
    x_d = - sum of q_m

d gets each x_m from all who hold it; with four nodes both holders of each y_m send it, so d goes on
only if those left agree on the whole state.

Learns   at a loss nobody anything. At a return d sees fresh uniform masks on everything, whatever
         it knew before: its view is its new share. The others receive nothing
Rounds   loss 0, return 1
Bytes    return 8 by each node that is left
Paper    [dalskov2021] for the shares, [araki2021] for the stage

The keys of a return must be of an epoch that d takes part in, since d knew all keys of the one
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter, outside
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Share, total

S = TypeVar("S", bound=Share)


def left_without(nodes: int, lost: int | None) -> tuple[int, ...]:
    """The numbers of the nodes that are left, in their order.

    >>> left_without(4, 1), left_without(4, None)
    ((0, 2, 3), (0, 1, 2, 3))
    """
    return tuple(node for node in range(nodes) if node != lost)


def share_without(x: S, *, me: int, lost: int) -> S:
    """A node's share among the nodes that are left.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> x = deal_integers([7], nodes=4)
    >>> reveal([share_without(x[me], me=me, lost=1) for me in (0, 2, 3)])
    array([7])
    """
    left = left_without(len(x.parts) + 1, lost)
    parts = {position: x.parts[node] for position, node in enumerate(left) if node != me}
    # The lost component becomes part of the first one: all who hold that have both.
    if 0 in parts:
        parts[0] = x.plus(parts[0], x.parts[lost])
    return type(x)(parts)


Size = tuple[tuple[int, ...], np.dtype[Any]]
"""The shape and the words of an array."""


def _letters(nodes: int, lost: int, sizes: Sequence[Size]) -> list[tuple[int, Letter]]:
    """The component of each letter, and the letter."""
    return [
        (m, Letter(outside(nodes, lost, m), lost, shape, dtype))
        for shape, dtype in sizes
        for m in left_without(nodes, lost)
    ]


async def hand_over(
    session: Session,
    held: Sequence[ArithmeticShare],
    sizes: Sequence[Size],
    *,
    lost: int,
    label: str,
) -> list[ArithmeticShare]:
    """Shares among all nodes of what those left `held`; the one that was lost passes nothing.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>>
    >>> x, sizes = deal_integers([7, -1], nodes=4), [((2,), np.dtype(np.uint64))]
    >>> async def node(s):
    ...     held = [share_without(x[s.me], me=s.me, lost=1)] if s.me != 1 else []
    ...     return (await hand_over(s, held, sizes, lost=1, label="return"))[0]
    >>> reveal(run_parties(node, nodes=4).results)
    array([ 7, -1])
    """
    nodes, me, left = session.nodes, session.me, left_without(session.nodes, lost)
    made: list[dict[int, Any]] = [{} for _ in sizes]
    for at, share in enumerate(held):
        # From the key that the node which is back lacks: it knew all components before, and would
        # else learn the new state from what it had.
        masks = session.words(f"{label}.q{at}", lost, (len(left), *share.shape), share.dtype)
        made[at] = {left[p]: part + masks[p] for p, part in share.parts.items()}
        # The masks return in the component that the node which is back does not hold.
        made[at][lost] = np.zeros_like(share.any) - total(list(masks), np.add)
    letters = _letters(nodes, lost, sizes)
    contents = {
        number: made[number // len(left)][m]
        for number, (m, letter) in enumerate(letters)
        if me in letter.senders
    }
    arrived = await session.exchange([letter for _, letter in letters], contents)
    for number, part in arrived.items():
        made[number // len(left)][letters[number][0]] = part
    return [ArithmeticShare(parts) for parts in made]


def cost(nodes: int, sizes: Sequence[Size], *, lost: int) -> Cost:
    """The cost of handing over arrays of these sizes.

    >>> cost(4, [((1,), np.dtype(np.uint64))], lost=3).rounds
    1
    """
    return Cost.of(nodes, [letter for _, letter in _letters(nodes, lost, sizes)])
