"""Block descent on shares: a cheap improvement of the first plan before the iterations.

Rows are dealt into public disjoint blocks. In each generation every block takes the best of all
swaps and 3-cycles of the places of its rows, or stays as it is, so a plan never gets worse. Many
blocks move at once, where an iteration moves only the columns on cycles: on a drawn plan a
generation is worth several iterations.

What changes is the matching alone, a line for each row. Before each generation the cost of every
place of a block to every row of it is a product of their lines of the matching and of the costs: so
few words per row that costs need not change places with the rows.

Per generation the rounds of a product, of a shuffle, of a comparison per level, of marks going back
and of another product, of which only the last has n words for each row. The nodes learn a uniformly
random order per block and generation, that is, nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.assignment.layout import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState, lowest_bits
from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import minimum, pairwise
from tacit.mpc.protocols.minimum import find_least
from tacit.mpc.sealed.moves import Moves, Step, child_keys, cost_of_lines, permute_lines
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


async def descend(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    steps: Iterable[Step],
    shape: AssignmentShape,
    *,
    levels: int = 2,
) -> AssignmentState:
    """Return the state after these generations; its prices stay, and it has no parents.

    The least costs of the columns, which are the first prices, do not depend on the plan.
    """
    # Lines are rows here: a block exchanges places of its rows, and costs stay where they are.
    lines, number = _transposed(state.matching), state.step
    for step in steps:
        number += 1
        of_block = np.divmod(step.moves.positions, shape.size)
        table = await pairwise.product(
            session, lines[of_block], costs[of_block], _by_lines, label=f"{number}.table"
        )
        # Child 0 is to stay as it is, with the lowest key among equals: a plan never gets worse.
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
        lines = await permute_lines(session, lines, marks, step.moves, label=f"{number}.update")
    if number == state.step:
        return state
    matching = _transposed(lines)
    return replace(state, matched=lowest_bits(matching), matching=matching, step=number)


def _transposed(table: ArithmeticShare) -> ArithmeticShare:
    return table.map(lambda part: np.ascontiguousarray(part.swapaxes(-1, -2)))


def _by_lines(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """The product of every line of a block with every line of the same block."""
    return np.asarray(np.einsum("bij,bkj->bik", a, b))


def _groups(moves: Moves) -> tuple[int, ...]:
    return (moves.children,) * len(moves.positions)


def cost_of_generations(
    nodes: int, shape: AssignmentShape, moves: Moves, *, bits: int, count: int, levels: int = 2
) -> Cost:
    """Return the cost of some generations with such children in one session."""
    groups, word = _groups(moves), shape.word
    each = cost_of_lines(nodes, moves, moves.positions.shape[1], word)
    each = each.then(minimum.cost(nodes, groups, bits=bits, dtype=word, levels=levels))
    each = each.then(minimum.cost_of_marks(nodes, groups, word))
    each = each.then(cost_of_lines(nodes, moves, shape.size, word))
    total = Cost.free(nodes)
    for _ in range(count):
        total = total.then(each)
    return total


def first_letters(nodes: int, moves: Moves, word: np.dtype[Any]) -> list[Letter]:
    """Return the letters of the first round, with which greetings go."""
    return pairwise.reshare_letters(nodes, (*moves.positions.shape, moves.positions.shape[1]), word)
