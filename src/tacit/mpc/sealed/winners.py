"""The winner of every block, as secret indicators of its children.

The keys of each block are shuffled obliviously, all pairs inside a block are compared and the
signs opened. The keys of a block are distinct and its order is uniform to every node, so what is
opened is a uniformly random order per block, independent of the keys [hamada2012]. The largest is
marked at its shuffled position, and the marks go back to the original ones as shares.

The rounds of a shuffle, a comparison and marks going back; about 2 bits per bit of a key and pair.
The nodes learn a uniformly random order, that is, nothing. Blocks of c children cost c(c-1)/2
comparisons each, so b blocks cost about b times less than one with all their children.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import cut
from tacit.mpc.protocols import less_than, shuffle
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.protocols.order import draw_block_order
from tacit.mpc.rank.result import no_order
from tacit.mpc.ring import public_word
from tacit.mpc.sealed.moves import Step
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

Marks = Callable[[Session], Awaitable[ArithmeticShare]]


@cache
def _pairs(children: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    return np.triu_indices(children, 1)


def child_keys(table: ArithmeticShare, step: Step) -> ArithmeticShare:
    """Shares of all children's keys: sums of cells and public numbers, without communication."""
    moves, word = step.moves, table.dtype
    factor = public_word(step.factor).astype(word)
    public = step.offsets.astype(np.uint64).astype(word)

    def gains(component: NDArray[Any]) -> NDArray[Any]:
        flat = component.reshape(-1)
        gain = flat.take(moves.plus).sum(axis=1, dtype=word)
        made: NDArray[Any] = (gain - flat.take(moves.minus).sum(axis=1, dtype=word)) * factor
        return made

    return table.map(gains).add_public(public)


async def find_winners(
    session: Session,
    keys: ArithmeticShare,
    kept: ArithmeticShare,
    *,
    children: int,
    bits: int,
    label: str,
) -> tuple[Marks, BitShare]:
    """Compare all pairs of each block; the signs of the differences `kept` stay shares.

    The first result is one message short of the indicators, so that it can be sent in parallel
    with something else.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> keys = deal_integers([10, 30, 20, 9, 8, 7])
    >>> async def node(s):
    ...     k = keys[s.me]
    ...     marks, _ = await find_winners(s, k, k[:0], children=3, bits=6, label="w")
    ...     return await marks(s)
    >>> reveal(run_parties(node).results)
    array([0, 1, 0, 1, 0, 0])
    """
    blocks = len(keys) // children
    order = draw_block_order(session, blocks, children, label=f"{label}.order")
    mixed = await shuffle.shuffle(session, keys, order, label=f"{label}.shuffle")
    known = cut(known_part(session, mixed), bits=bits).reshape(blocks, children)
    left, right = _pairs(children)
    batch = await less_than.compare_known(
        session,
        (known[:, left] - known[:, right]).reshape(-1),
        known_part(session, kept),
        bits=bits,
        label=f"{label}.less",
    )
    public = np.zeros(blocks * children, dtype=np.uint64)
    public[_largest(batch.opened.reshape(blocks, -1), children)] = 1

    def marks(substream: Session) -> Awaitable[ArithmeticShare]:
        return shuffle.labels_to_shares(substream, public, order, label=f"{label}.back")

    return marks, batch.kept


def _largest(less: NDArray[np.uint8], children: int) -> NDArray[np.intp]:
    """The position of each block's largest key, if the signs of its pairs form an order."""
    blocks = len(less)
    left, right = _pairs(children)
    smaller = np.zeros((blocks, children, children), dtype=np.uint8)
    smaller[:, left, right] = less
    smaller[:, right, left] = 1 - less
    ranks = smaller.sum(axis=2, dtype=np.uint16)
    if (np.sort(ranks, axis=1) != np.arange(children)).any():
        raise no_order()
    largest: NDArray[np.intp] = np.arange(blocks) * children + ranks.argmin(axis=1)
    return largest


def cost(nodes: int, blocks: int, children: int, kept: int, *, bits: int, itemsize: int) -> Cost:
    """The cost of the comparison, up to the marks."""
    pairs = blocks * (children * (children - 1) // 2)
    mixing = shuffle.cost(nodes, (blocks * children,), np.dtype(f"u{itemsize}"))
    return mixing.then(less_than.cost(nodes, pairs, kept, bits=bits))


def cost_of_marks(nodes: int, blocks: int, children: int) -> Cost:
    """The cost of bringing the marks back."""
    return shuffle.cost_to_shares(nodes, blocks * children)
