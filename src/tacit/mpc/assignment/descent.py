"""Block descent on shares: a cheap improvement of the first plan before the iterations.

Rows are dealt into public disjoint blocks. In each generation every block takes the best of all
swaps and 3-cycles of the places of its rows, or stays as it is, so a plan never gets worse. Many
blocks move at once, where an iteration moves only the columns on cycles: on a drawn plan a
generation is worth several iterations.

The table has a line for each row: the cost of its place to every row, then the place itself as one
bit among n. Lines change places together, so after the last generation the matching is read off
the table without a message.

1 round for the table, then per generation the rounds of a shuffle, of a comparison per level, of
marks going back and of one product. The nodes learn a uniformly random order per block and
generation, that is, nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tacit.mpc.assignment.iterations import cost_of_table, transposed
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState, lowest_bits
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import minimum, pairwise
from tacit.mpc.protocols.minimum import find_least
from tacit.mpc.ring import multiplied
from tacit.mpc.sealed import update
from tacit.mpc.sealed.moves import Moves, Step
from tacit.mpc.sealed.update import permute_lines
from tacit.mpc.sealed.winners import child_keys
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


async def descend(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    steps: Sequence[Step],
    shape: AssignmentShape,
    *,
    levels: int = 2,
) -> AssignmentState:
    """Return the state after these generations; its prices stay, and it has no parents.

    The least costs of the columns, which are the first prices, do not depend on the plan.

    >>> from types import SimpleNamespace
    >>> from tacit.mpc.assignment.iterations import first_state
    >>> from tacit.mpc.assignment.start import public_matching
    >>> from tacit.mpc.assignment.ties import Ties
    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal, reconstruct
    >>> costs, shape = deal(np.array([[[7, 1], [2, 3]]], dtype=np.uint32)), AssignmentShape(2, 7)
    >>> runs = SimpleNamespace(child=np.array([1, 1]), to=np.array([0, 1]),
    ...                        source=np.array([1, 0]), length=np.array([1, 1]),
    ...                        step=np.array([1, 1]))
    >>> swap = SimpleNamespace(positions=np.array([[0, 1]]), children=2, runs=runs,
    ...                        plus=np.array([[0, 0], [4, 1]]), minus=np.array([[0, 0], [0, 5]]),
    ...                        turns=np.zeros((0, 2), dtype=int))
    >>> async def node(s):
    ...     matched, matching = public_matching(s, [[0, 1]], shape)
    ...     state = await first_state(s, matched, matching, costs[s.me], shape, Ties(1))
    ...     steps = [Step(swap, np.array([0, 1]), 2, 6)]
    ...     return (await descend(s, state, costs[s.me], steps, shape)).matching
    >>> reconstruct(run_parties(node).results)[0]
    array([[0, 1],
           [1, 0]], dtype=uint32)
    """
    if not steps:
        return state
    size = shape.size
    product = await pairwise.product(
        session, costs, state.matching, multiplied, label=f"{state.step}.lines"
    )
    table = _beside(transposed(product), transposed(state.matching))
    for number, step in enumerate(steps, start=state.step + 1):
        keys = child_keys(table, step)
        found = await find_least(
            session,
            keys,
            _groups(step.moves),
            bits=step.bits,
            label=f"{number}",
            levels=levels,
        )
        marks = await found.marks(session, keys.dtype, label=f"{number}.back")
        table = await permute_lines(session, table, marks, step.moves, label=f"{number}.update")
    matching = transposed(table[..., size:])
    return replace(
        state, matched=lowest_bits(matching), matching=matching, step=state.step + len(steps)
    )


def _beside(left: ArithmeticShare, right: ArithmeticShare) -> ArithmeticShare:
    return ArithmeticShare(
        {c: np.concatenate([part, right.parts[c]], axis=-1) for c, part in left.parts.items()}
    )


def _groups(moves: Moves) -> tuple[int, ...]:
    return (moves.children,) * len(moves.positions)


def cost(
    nodes: int,
    shape: AssignmentShape,
    moves: Moves,
    *,
    bits: int,
    generations: int,
    levels: int = 2,
) -> Cost:
    """Return the cost of some generations with such children in one session."""
    if not generations:
        return Cost.free(nodes)
    groups, word = _groups(moves), shape.word
    each = minimum.cost(nodes, groups, bits=bits, dtype=word, levels=levels)
    each = each.then(minimum.cost_of_marks(nodes, groups, word))
    each = each.then(update.cost_of_lines(nodes, moves, 2 * shape.size, word))
    total = cost_of_table(nodes, shape)
    for _ in range(generations):
        total = total.then(each)
    return total
