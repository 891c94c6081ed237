"""Generations of a sealed search at a node, one after the other, in one session.

A generation: the rounds of a shuffle, of a comparison, of marks going back and of two products, and
one more with parent selection. Afterwards the plan that may be opened is settled. The nodes learn a
uniformly random order per block and generation; the coordinator learns nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice, repeat

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import halves
from tacit.mpc.sealed import best, update, winners
from tacit.mpc.sealed.moves import Moves, Step, TableShape
from tacit.mpc.sealed.state import SealedState, as_plans
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, concatenate


async def advance(
    session: Session, state: SealedState, steps: Iterable[Step], shape: TableShape
) -> SealedState:
    """The state after these generations, with the plan settled that may be opened.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> swap = SimpleNamespace(positions=np.array([[0, 1, 2]]), children=2,
    ...                        plus=np.array([[0, 0, 0], [4, 2, 9]]),
    ...                        minus=np.array([[0, 0, 0], [1, 6, 8]]),
    ...                        turns=np.zeros((0, 2), dtype=int),
    ...                        runs=SimpleNamespace(child=np.array([1, 1]), to=np.array([0, 1]),
    ...                                             source=np.array([1, 0]),
    ...                                             length=np.array([1, 1]),
    ...                                             step=np.array([1, 1])))
    >>> shape = TableShape(places=3, key_bits=9, total_bits=9)
    >>> table = deal_integers([[[0, 5, 9, 0], [6, 0, 5, 1], [5, 8, 0, 2]]])
    >>> plan = deal_integers([[15, 0, 1, 2]])
    >>> async def node(s):
    ...     state = SealedState(table[s.me], plan[s.me], plan[s.me][0])
    ...     return await advance(s, state, [Step(swap, np.array([1, 0]), 2, 9)], shape)
    >>> reveal([state.plan for state in run_parties(node).results])
    array([23,  1,  0,  2])
    """
    substreams = session.substreams(2)
    for number, step in enumerate(steps):
        if step.moves.children > 1:
            state = await _generation(session, substreams, state, step, shape, label=str(number))
    plans = as_plans(state.table, shape)
    plan = await best.settle(session, state.best, plans, shape, label="end")
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
    marks, signs = await winners.find_winners(
        session,
        winners.child_keys(state.table, step),
        concatenate([bests - values, values[first] - values[second]]),
        children=step.moves.children,
        bits=max(step.bits, shape.total_bits),
        label=label,
        levels=shape.levels,
    )

    async def take(substream: Session) -> tuple[ArithmeticShare, ...]:
        table = await update.take_winners(
            substream,
            state.table,
            await marks(substream),
            step.moves,
            label=f"{label}.update",
        )
        return (table,)

    async def keep(substream: Session) -> tuple[ArithmeticShare, ...]:
        bits = await halves.bits_to_arithmetic(substream, signs, label=f"{label}.signs")
        numbers = best.in_ring(bits, state.table.dtype)
        kept = await best.choose(
            substream, state.best, plans, numbers[:parents], label=f"{label}.best"
        )
        return kept, numbers[parents:]

    (table,), (kept, is_second) = await session.in_parallel(take, keep, substreams=substreams)
    table = await best.select_parents(
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
        taken = winners.cost_of_marks(nodes, blocks, moves.children, shape.word)
        taken = taken.then(update.cost(nodes, moves, shape))
        for count in islice(chain(pairs, repeat(0)), generations):
            signs = shape.parents + count
            found = winners.cost(
                nodes,
                blocks,
                moves.children,
                signs,
                bits=max(shape.key_bits, shape.total_bits),
                word=shape.word,
                levels=shape.levels,
            )
            kept = best.cost_of_keeping(nodes, shape, pairs=count)
            total = total.then(found).then(taken.beside(kept))
            total = total.then(best.cost_of_selection(nodes, count, shape))
    return total.then(best.cost_to_settle(nodes, shape))
