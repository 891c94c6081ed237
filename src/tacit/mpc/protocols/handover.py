"""A state of the nodes that are left, handed over to the node that was lost and is back.

With d the node that is back and y_m the component that node m of those left lacks, this is stage d
of a shuffle without its permutation:

::

    x_m = y_m + q_m   for m other than d        q_m from key d, which all but d hold
    x_d = - sum of q_m

d gets each x_m from all who hold it. 1 round. It sees fresh uniform masks on everything, whatever
it knew before: its view is its new share. The others get nothing. With four nodes both holders of
each y_m send it, so d goes on only if those left agree on the whole state.

Keys must be of an epoch that d takes part in: it knew all the others before it was lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter, outside
from tacit.mpc.loss import left_without
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, total

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
    >>> from tacit.mpc.loss import share_without
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
        masks = session.words(f"{label}.q{at}", lost, (len(left), *share.shape), share.dtype)
        made[at] = {left[p]: part + masks[p] for p, part in share.parts.items()}
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
