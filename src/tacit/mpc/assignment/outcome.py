"""The end of a batch: the plan that may be opened, and what is proved of it, all in shares.

A plan has one line per weighting: its cost, whether it is proved to be the optimum, with a ladder
the rung of its gap, then the column of each row. The columns follow from the matching without a
message. A state that comes before the first iteration has prices that prove nothing, so its proof
is left out and the line says 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.mpc.assignment import certificate, iterations
from tacit.mpc.assignment.layout import Layout
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.assignment.ties import Ties
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import halves, pairwise
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate


@dataclass(frozen=True, slots=True)
class Answer:
    """Shares for each weighting."""

    plans: ArithmeticShare
    """A line for each: cost, proved, perhaps a rung, and the column of each row."""
    proved: BitShare | None
    """Whether each plan is proved to be the optimum; None where no proof was tried."""


def heads(*, steps: Sequence[int]) -> int:
    """Return how many words of a plan come before its columns.

    >>> heads(steps=()), heads(steps=(0, 1, 10))
    (2, 3)
    """
    return 3 if steps else 2


async def unproved(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    layout: Layout,
    *,
    steps: Sequence[int] = (),
) -> Answer:
    """Return the plan of a state of which nothing is proved yet."""
    _, own = await iterations.table_and_own(session, state.matching, costs, label="finish.own")
    total = own.map(lambda part: part.sum(axis=1, dtype=part.dtype))
    nothing = total.map(np.zeros_like)
    return Answer(_lines(state, layout, [total, *[nothing] * (heads(steps=steps) - 1)]), None)


async def finish(
    session: Session,
    state: AssignmentState,
    costs: ArithmeticShare,
    layout: Layout,
    shape: AssignmentShape,
    ties: Ties,
    *,
    steps: Sequence[int] = (),
) -> Answer:
    """Return the plan and what is proved of it; `steps` are those of a ladder for its gap."""
    k, word = shape.weightings, shape.word
    proved = await certificate.prove(session, state, costs, shape, ties, steps=steps)
    bits = concatenate([proved.optimal, proved.valid]) if steps else proved.optimal
    numbers = await halves.bits_to_arithmetic(session, bits, label="finish.bits", dtype=word)
    first = [proved.total, numbers[:k]]
    if steps:
        # The rung of a gap that is no bound must not be opened.
        first.append(
            await pairwise.multiply(session, numbers[k:], proved.rung, label="finish.rung")
        )
    return Answer(_lines(state, layout, first), proved.optimal)


def _lines(
    state: AssignmentState, layout: Layout, first: Sequence[ArithmeticShare]
) -> ArithmeticShare:
    columns = state.matching.map(layout.plan_of)
    return ArithmeticShare(
        {
            c: np.column_stack([*(each.parts[c] for each in first), part])
            for c, part in columns.parts.items()
        }
    )


def cost(nodes: int, shape: AssignmentShape, *, steps: Sequence[int] = ()) -> Cost:
    """Return the cost of the end of a batch with a proof."""
    k, word = shape.weightings, shape.word
    total = certificate.cost(nodes, shape, steps=steps)
    total = total.then(halves.cost_of_conversion(nodes, (2 if steps else 1) * k, word))
    return total.then(pairwise.cost(nodes, k, itemsize=word.itemsize)) if steps else total


def cost_unproved(nodes: int, shape: AssignmentShape) -> Cost:
    """Return the cost of the end of a batch without a proof."""
    return iterations.cost_of_table(nodes, shape)
