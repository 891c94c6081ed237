"""The end: a plan that may be opened and what is proved of it, all in shares.

A plan that would use a forbidden pair is zeroed before anybody can open it, and so are its cost and
its gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from tacit.mpc.assignment import certificate, iterations
from tacit.mpc.assignment.layout import Layout
from tacit.mpc.assignment.shape import AssignmentShape
from tacit.mpc.assignment.state import AssignmentState
from tacit.mpc.assignment.ties import Ties
from tacit.mpc.cost import Cost
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import b2a, bit_products, pairwise
from tacit.mpc.protocols.bit_products import both
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate


class Outcome(IntEnum):
    """What is known at the end: 1 if it is proved, and 2 more if there is a plan."""

    NONE = 0
    """No plan without forbidden pairs was found, and it is not proved that there is none."""
    INFEASIBLE = 1
    """It is proved that every plan has a forbidden pair."""
    FEASIBLE = 2
    """There is a plan, and it is not proved to be the optimum."""
    OPTIMUM = 3
    """There is a plan, and it is proved to be the optimum."""

    @property
    def is_proved(self) -> bool:
        """Whether it is proved what the best plan is, or that there is none."""
        return self in (Outcome.OPTIMUM, Outcome.INFEASIBLE)

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan."""
        return self >= Outcome.FEASIBLE


@dataclass(frozen=True, slots=True)
class Answer:
    """Shares for each weighting; whoever opens the plan opens the outcome with it."""

    plan: ArithmeticShare
    """The outcome, then the column of each row; zero unless the outcome says that there is one."""
    bound: ArithmeticShare
    """1 if the gap is one, the cost, and by how much it may exceed the optimum's."""
    proved: BitShare
    """Whether the plan is proved to be the optimum, or that there is none."""
    rung: ArithmeticShare
    """How many steps of the ladder hold of its gap; zero without a plan."""


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
    k, rows, word = shape.weightings, layout.rows, shape.word
    proved = await certificate.prove(
        session, state, costs, layout.forbidden_cells, shape, ties, steps=steps
    )
    bounded = await both(session, proved.bounded, proved.feasible, label="finish.bounded")
    bits = concatenate([proved.optimal, proved.feasible, bounded])
    numbers = await b2a.bits_to_arithmetic(session, bits, label="finish.bits", dtype=word)
    optimal, feasible, bound = (numbers[i * k : (i + 1) * k] for i in range(3))
    # The rung of a gap that is none, or of a plan that is none, must not be opened.
    ladder = [(bound, proved.rung)] if steps else []
    shown = [
        *[(feasible, state.matching.map(layout.plan_of)[:, row]) for row in range(rows)],
        (feasible, proved.total),
        (bound, proved.gap),
        *ladder,
    ]
    opened = await pairwise.multiply(
        session,
        _columns([flag for flag, _ in shown]),
        _columns([value for _, value in shown]),
        label="finish.shown",
    )
    outcome = optimal + feasible.map(lambda part: part * word.type(2))
    return Answer(
        _beside(outcome, opened[:, :rows]),
        _beside(bound, opened[:, rows : rows + 2]),
        proved.optimal,
        opened[:, rows + 2 :],
    )


def _columns(shares: Sequence[ArithmeticShare]) -> ArithmeticShare:
    return ArithmeticShare(
        {c: np.stack([x.parts[c] for x in shares], axis=1) for c in shares[0].parts}
    )


def _beside(first: ArithmeticShare, second: ArithmeticShare) -> ArithmeticShare:
    return ArithmeticShare(
        {c: np.column_stack([part, second.parts[c]]) for c, part in first.parts.items()}
    )


def cost(nodes: int, layout: Layout, shape: AssignmentShape, *, steps: Sequence[int] = ()) -> Cost:
    """Return the cost of the end."""
    k, word = shape.weightings, shape.word
    total = certificate.cost(nodes, shape, steps=steps)
    total = total.then(bit_products.cost(nodes, k)).then(b2a.cost(nodes, 3 * k, word))
    shown = k * (layout.rows + 2 + bool(steps))
    return total.then(pairwise.cost(nodes, shown, itemsize=word.itemsize))


def first_letters(nodes: int, shape: AssignmentShape) -> list[Letter]:
    """Return the letters of the first round, with which greetings go."""
    return iterations.first_letters(nodes, shape)
