"""The winner of every block, as secret indicators of its children.

The largest key of each block is found (`minimum`): the keys are shuffled obliviously, orders inside
subgroups of each block are opened, then those of their winners, and marks of the largest go back to
the original positions as shares. The keys of a block are distinct, so what is opened is a public
function of uniformly random orders, independent of the keys [hamada2012].

The rounds of a shuffle, one comparison per level, and marks going back; about 2 bits per bit of a
key and pair. With one level, all pairs of a block's c children are compared, c(c-1)/2; two levels
need about c^(4/3). So few levels are cheap where rounds take the time, and many where comparisons
do. The nodes learn a uniformly random order, that is, nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import minimum
from tacit.mpc.protocols.minimum import tournament
from tacit.mpc.ring import public_word
from tacit.mpc.sealed.moves import Step
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare

Marks = Callable[[Session], Awaitable[ArithmeticShare]]


def child_keys(table: ArithmeticShare, step: Step) -> ArithmeticShare:
    """Shares of all children's keys: sums of cells and public numbers, without communication."""
    moves, word = step.moves, table.dtype
    factor = public_word(step.factor).astype(word)
    public = step.offsets.astype(np.uint64).astype(word)

    def gains(component: NDArray[Any]) -> NDArray[Any]:
        flat = component.reshape(-1)
        if len(moves.turns):
            legs, back = moves.turns.T
            sums = np.cumsum(flat[back] - flat[legs], dtype=word)
            flat = np.concatenate([flat, np.zeros(1, dtype=word), sums])
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
    levels: int = 1,
) -> tuple[Marks, BitShare]:
    """Find the largest key of each block; the signs of the differences `kept` stay shares.

    The first result is one message short of the indicators, so that it can be sent in parallel
    with something else. They are in the ring of the keys.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> keys = deal_integers([10, 30, 20, 9, 8, 7])
    >>> async def node(s):
    ...     k = keys[s.me]
    ...     marks, _ = await find_winners(s, k, k[:0], children=3, bits=6, label="w")
    ...     return await marks(s)
    >>> reveal(run_parties(node).results)
    array([0, 1, 0, 1, 0, 0])
    """
    found = await minimum.find_least(
        session,
        keys,
        _sizes(len(keys) // children, children),
        bits=bits,
        label=label,
        kept=kept,
        levels=levels,
        largest=True,
    )

    def marks(substream: Session) -> Awaitable[ArithmeticShare]:
        return found.marks(substream, keys.dtype, label=f"{label}.back")

    return marks, found.kept


def _sizes(blocks: int, children: int) -> tuple[int, ...]:
    return (children,) * blocks


def most_compared(blocks: int, children: int, *, levels: int) -> int:
    """How many pairs are compared at once, at most.

    >>> most_compared(14, 92, levels=1), most_compared(14, 92, levels=2)
    (58604, 3080)
    """
    plan = tournament(_sizes(blocks, children), levels)
    return max(level.pairs for level in plan)


def cost(
    nodes: int,
    blocks: int,
    children: int,
    kept: int,
    *,
    bits: int,
    word: np.dtype[Any],
    levels: int = 1,
) -> Cost:
    """The cost of the comparison, up to the marks."""
    sizes = _sizes(blocks, children)
    return minimum.cost(nodes, sizes, bits=bits, dtype=word, kept=kept, levels=levels)


def cost_of_marks(nodes: int, blocks: int, children: int, word: np.dtype[Any]) -> Cost:
    """The cost of bringing the marks back."""
    return minimum.cost_of_marks(nodes, _sizes(blocks, children), word)
