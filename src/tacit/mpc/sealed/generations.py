"""Generations of a sealed search at a node, one after the other, in one session.

A generation: 2 + (1 + log2 bits) + 1 + 1 rounds, for a tour one more. Afterwards the best plan is
settled, so that it may be opened as it is. The nodes learn a uniformly random order per block and
generation; the coordinator learns nothing, unless the agreement says that it is told of each
generation whether the best plan improved.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.linear import subtract
from tacit.mpc.protocols import opening
from tacit.mpc.sealed import best, update, winners
from tacit.mpc.sealed.moves import Moves, Step, Table
from tacit.mpc.sealed.state import SealedState, as_plan
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


async def advance(
    session: Session,
    state: SealedState,
    steps: Iterable[Step],
    about: Table,
    *,
    tell_improvements: bool = False,
) -> SealedState:
    """The state after these generations, with the best plan settled.

    >>> from tacit.mpc.local import deal_integers, reveal, run_trio
    >>> from types import SimpleNamespace
    >>> swap = SimpleNamespace(positions=np.array([[0, 1]]), children=2,
    ...                        plus=np.array([[0, 0], [3, 1]]), minus=np.array([[0, 0], [0, 4]]),
    ...                        moved_child=np.array([1, 1]), moved_to=np.array([0, 1]),
    ...                        moved_from=np.array([1, 0]))
    >>> about = Table("assignment", rows=2, columns=2, key_bits=9, total_bits=9)
    >>> table, plan = deal_integers([[5, 1, 0], [20, 7, 1]]), deal_integers([12, 0, 1])
    >>> async def node(s):
    ...     state = SealedState(table[s.me], plan[s.me])
    ...     return await advance(s, state, [Step(swap, np.array([1, 0]), 2, 9)], about)
    >>> reveal([state.best for state in run_trio(node).results])
    array([21,  1,  0])
    """
    strands = session.strands(2)
    signs = []
    for number, step in enumerate(steps):
        if step.moves.children == 1:
            state_signs = BitShare(*(np.zeros(1, dtype=np.uint8),) * 2)
        else:
            state, state_signs = await _generation(
                session, strands, state, step, about, label=str(number)
            )
        signs.append(state_signs)
    kept, last = await best.settle(
        session, state.best, as_plan(state.table, about), about, label="end"
    )
    if tell_improvements:
        # A sign belongs to the generation before, of which it says what became of it.
        told = [*signs[1:], last]
        bits = BitShare(
            np.concatenate([each.mine for each in told]),
            np.concatenate([each.next for each in told]),
        )
        await opening.open_to_coordinator(session, bits, label="improved")
    return SealedState(state.table, kept)


async def _generation(
    session: Session,
    strands: list[Session],
    state: SealedState,
    step: Step,
    about: Table,
    *,
    label: str,
) -> tuple[SealedState, BitShare]:
    plan = as_plan(state.table, about)
    marks, better = await winners.find_winners(
        session,
        winners.child_keys(state.table, step, me=session.me),
        subtract(state.best[:1], plan[:1]),
        children=step.moves.children,
        bits=_bits(step.bits, about),
        label=label,
    )

    async def take(strand: Session) -> ArithmeticShare:
        return await update.take_winners(
            strand, state.table, await marks(strand), step.moves, about, label=f"{label}.update"
        )

    keep = partial(
        best.keep_better, best=state.best, plan=plan, better=better, label=f"{label}.best"
    )
    table, kept = await session.in_parallel(take, keep, strands=strands)
    return SealedState(table, kept), better


def _bits(key_bits: int, about: Table) -> int:
    return max(key_bits, about.total_bits)


def cost(moves: Moves, generations: int, about: Table, *, tell_improvements: bool = False) -> Cost:
    """What so many generations with children like these cost, the settling included.

    >>> from types import SimpleNamespace
    >>> moves = SimpleNamespace(positions=np.zeros((1, 100)), children=300)
    >>> about = Table("assignment", rows=100, columns=100, key_bits=28, total_bits=18)
    >>> (cost(moves, 5, about).rounds - cost(moves, 4, about).rounds)
    10
    """
    blocks, size = moves.positions.shape
    total = Cost.free()
    if moves.children > 1:
        bits = _bits(about.key_bits, about)
        found = winners.cost(blocks, moves.children, 1, bits=bits, itemsize=about.word.itemsize)
        taken = winners.cost_of_marks(blocks, moves.children).then(update.cost(blocks, size, about))
        for _ in range(generations):
            total = total.then(found).then(taken.beside(best.cost(about)))
    total = total.then(best.cost_to_settle(about))
    if tell_improvements:
        total = total.then(opening.cost_to_coordinator(generations, itemsize=1))
    return total
