"""Generations of a sealed search at a node, one after the other, in one session.

*Winners*: the largest key of each block is found (`minimum`). The keys are shuffled obliviously,
orders inside subgroups of each block are opened, then those of their winners, and marks of the
largest go back to the original positions as shares. The keys of a block are distinct, so what is
opened is a public function of uniformly random orders, independent of the keys [hamada2012]. With
one level, all pairs of a block's c children are compared, c(c-1)/2; two levels need about c^(4/3).
So few levels are cheap where rounds take the time, and many where comparisons do.

*Best so far*: the best plans are second slots, chosen without noise. The sign of (best value -
parent's value) is a kept share; converted to the ring it selects, on shares, the new best plan: 1
round and one word per entry of a plan, after 2 rounds for the numbers. The plan that may be opened
is settled among the best and the current plan of every parent, as winners of a block are found, and
chosen by one product. Nobody learns anything, not even whether it was an improvement.

*Parent selection*: parents are paired, and both of a pair continue from the better one. The pairs
are public; which of the two is better stays a share. It was compared before the generation, in the
same batch as everything else, so a pair costs 1 round and one word per cell of a table.

A generation: the rounds of a shuffle, of a comparison, of marks going back and of two products, and
one more with parent selection. The nodes learn a uniformly random order per block and generation;
the coordinator learns nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from itertools import chain, islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import halves, minimum, pairwise
from tacit.mpc.protocols.minimum import tournament
from tacit.mpc.sealed.moves import (
    Indices,
    Moves,
    Step,
    TableShape,
    child_keys,
    cost_of_winners,
    take_winners,
)
from tacit.mpc.sealed.state import SealedState, as_plans
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate

Marks = Callable[[Session], Awaitable[ArithmeticShare]]


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


def cost_to_find(
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
    marks, _ = await find_winners(
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
    found = cost_to_find(nodes, 1, count, 0, bits=shape.settle_bits, word=word)
    return found.then(cost_of_marks(nodes, 1, count, word)).then(
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


async def advance(
    session: Session, state: SealedState, steps: Iterable[Step], shape: TableShape
) -> SealedState:
    """The state after these generations, with the plan settled that may be opened.

    See tests/mpc/sealed/searches.py for an example.
    """
    substreams = session.substreams(2)
    for number, step in enumerate(steps):
        if step.moves.children > 1:
            state = await _generation(session, substreams, state, step, shape, label=str(number))
    plans = as_plans(state.table, shape)
    plan = await settle(session, state.best, plans, shape, label="end")
    return SealedState(state.table, state.best, plan)


async def _generation(
    session: Session,
    substreams: list[Session],
    state: SealedState,
    step: Step,
    shape: TableShape,
    *,
    label: str,
) -> SealedState:
    plans, parents = as_plans(state.table, shape), shape.parents
    first, second = step.parent_pairs.T
    values, bests = plans[:, 0], state.best[:, 0]
    marks, signs = await find_winners(
        session,
        child_keys(state.table, step),
        concatenate([bests - values, values[first] - values[second]]),
        children=step.moves.children,
        bits=max(step.bits, shape.total_bits),
        label=label,
        levels=shape.levels,
    )

    async def take(substream: Session) -> tuple[ArithmeticShare, ...]:
        table = await take_winners(
            substream,
            state.table,
            await marks(substream),
            step.moves,
            label=f"{label}.update",
        )
        return (table,)

    async def keep(substream: Session) -> tuple[ArithmeticShare, ...]:
        bits = await halves.bits_to_arithmetic(substream, signs, label=f"{label}.signs")
        numbers = in_ring(bits, state.table.dtype)
        kept = await choose(substream, state.best, plans, numbers[:parents], label=f"{label}.best")
        return kept, numbers[parents:]

    # The best plans are compared with the parents of before, so both go on side by side; parents
    # are paired after that, with the signs from the same comparison.
    (table,), (kept, is_second) = await session.in_parallel(take, keep, substreams=substreams)
    table = await select_parents(
        session, table, step.parent_pairs, is_second, label=f"{label}.meet"
    )
    return SealedState(table, kept, state.plan)


def cost(
    nodes: int,
    moves: Moves,
    generations: int,
    shape: TableShape,
    *,
    pairs: Iterable[int] = (),
) -> Cost:
    """The cost of this many generations with such children, the settling included.

    `pairs` has the number of parent pairs in each generation, if there are any.
    """
    blocks = len(moves.positions)
    total = Cost.free(nodes)
    if moves.children > 1:
        taken = cost_of_marks(nodes, blocks, moves.children, shape.word)
        taken = taken.then(cost_of_winners(nodes, moves, shape))
        for count in islice(chain(pairs, repeat(0)), generations):
            signs = shape.parents + count
            found = cost_to_find(
                nodes,
                blocks,
                moves.children,
                signs,
                bits=max(shape.key_bits, shape.total_bits),
                word=shape.word,
                levels=shape.levels,
            )
            kept = cost_of_keeping(nodes, shape, pairs=count)
            total = total.then(found).then(taken.beside(kept))
            total = total.then(cost_of_selection(nodes, count, shape))
    return total.then(cost_to_settle(nodes, shape))
