"""The better of two plans: the best so far, kept beside the parents, and parent selection.

The best plans are second slots, chosen without noise.

The sign of (best value - parent's value) is a kept share; converted to the ring it selects, on
shares, the new best plan: 1 round and one word per entry of a plan, after 2 rounds for the numbers.
The plan that may be opened is settled among the best and the current plan of every parent, as
winners of a block are found, and chosen by one product. Nobody learns anything, not even
whether it was an improvement.

Parent selection: parents are paired, and both of a pair continue from the better one. The pairs are
public; which of the two is better stays a share. It was compared before the generation, in the same
batch as everything else, so a pair costs 1 round and one word per cell of a table. Nobody learns
anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import halves, pairwise
from tacit.mpc.sealed import winners
from tacit.mpc.sealed.moves import Indices, TableShape
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


def in_ring(share: ArithmeticShare, word: np.dtype[Any], /) -> ArithmeticShare:
    """The share in a ring with smaller words, for values that fit it."""
    return share.map(lambda part: part.astype(word))


async def choose(
    session: Session,
    first: ArithmeticShare,
    second: ArithmeticShare,
    is_second: ArithmeticShare,
    *,
    label: str,
) -> ArithmeticShare:
    """Line by line, `second` where the number is 1 and `first` where it is 0. 1 round.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> old, new = deal_integers([[7], [7]]), deal_integers([[9], [9]])
    >>> which = deal_integers([1, 0])
    >>> reveal(run_parties(lambda s: choose(s, old[s.me], new[s.me], which[s.me],
    ...                                  label="c")).results).ravel()
    array([9, 7])
    """
    lines = (slice(None), *(None,) * (first.any.ndim - 1))
    change = await pairwise.multiply(session, is_second[lines], second - first, label=label)
    return first + change


async def settle(
    session: Session,
    best: ArithmeticShare,
    plans: ArithmeticShare,
    shape: TableShape,
    *,
    label: str,
) -> ArithmeticShare:
    """The best of all these plans.

    Among equally good ones the first parent's wins, and of its two the older one.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> old, new = deal_integers([[7, 0, 1]]), deal_integers([[9, 1, 0]])
    >>> shape = TableShape(places=2, key_bits=9, total_bits=9)
    >>> run = run_parties(lambda s: settle(s, old[s.me], new[s.me], shape, label="end"))
    >>> reveal(run.results)
    array([9, 1, 0])
    """
    count, word = 2 * shape.parents, best.dtype
    both = ArithmeticShare({c: _in_turn(old, plans.parts[c]) for c, old in best.parts.items()})
    factor = word.type(1 << shape.tie_bits)
    values = both[:, 0].map(lambda part: part * factor)
    marks, _ = await winners.find_winners(
        session,
        values.add_public(np.arange(count - 1, -1, -1, dtype=word)),
        best[:0, 0],
        children=count,
        bits=shape.settle_bits,
        label=label,
    )
    return await pairwise.product(
        session, await marks(session), both, np.matmul, label=f"{label}.plan"
    )


def _in_turn(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The lines of both, interleaved."""
    return np.stack([a, b], axis=1).reshape(-1, a.shape[-1])


def cost_of_keeping(nodes: int, shape: TableShape, *, pairs: int = 0) -> Cost:
    """The cost of keeping the better plans after the comparison, with the signs of parent pairs."""
    entries = shape.parents * (shape.places + 1)
    return halves.cost_of_conversion(nodes, shape.parents + pairs).then(
        pairwise.cost(nodes, entries, itemsize=shape.word.itemsize)
    )


def cost_to_settle(nodes: int, shape: TableShape) -> Cost:
    """The cost of the last comparison and its selection."""
    word, count = shape.word, 2 * shape.parents
    found = winners.cost(nodes, 1, count, 0, bits=shape.settle_bits, word=word)
    return found.then(winners.cost_of_marks(nodes, 1, count, word)).then(
        pairwise.cost(nodes, shape.places + 1, itemsize=word.itemsize)
    )


async def select_parents(
    session: Session,
    table: ArithmeticShare,
    pairs: Indices,
    is_second: ArithmeticShare,
    *,
    label: str,
) -> ArithmeticShare:
    """Shares of all parents' tables after selection in these pairs.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> tables, second = deal_integers([[[5]], [[8]], [[1]]]), deal_integers([1])
    >>> reveal(run_parties(lambda s: select_parents(s, tables[s.me], np.array([[0, 1]]),
    ...                                             second[s.me], label="m")).results).ravel()
    array([8, 8, 1])
    """
    if not len(pairs):
        return table
    first, second = pairs.T
    chosen = await choose(session, table[first], table[second], is_second, label=label)
    made = table.map(np.copy)
    for c, part in made.parts.items():
        part[first] = part[second] = chosen.parts[c]
    return made


def cost_of_selection(nodes: int, pairs: int, shape: TableShape) -> Cost:
    """The cost of selection in this many pairs."""
    if not pairs:
        return Cost.free(nodes)
    cells = pairs * shape.places * (shape.places + 1)
    return pairwise.cost(nodes, cells, itemsize=shape.word.itemsize)
