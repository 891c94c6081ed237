"""The end of a forest: a plan that may be opened, and what is proved of it, all in shares.

The matching is completed, then proved as far as it can be. A plan that would use a forbidden pair
is zeroed before anybody can open it, and so are its cost and its gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.forest import certificate, completion
from tacit.mpc.forest.after_search import better
from tacit.mpc.forest.certificate import Words
from tacit.mpc.forest.layout import Layout
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.letters import Letter
from tacit.mpc.protocols import b2a, bit_products, pairwise, shuffle
from tacit.mpc.protocols.bit_products import both
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate


class Outcome(IntEnum):
    """What is known at the end: 1 if it is proved, and 2 more if there is a plan."""

    NONE = 0
    """No plan was found, and it is not proved that there is none."""
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
    """1 if the gap is one, the scaled cost, and by how much it may exceed the optimum's."""
    proved: BitShare
    """Whether the plan is proved to be the optimum, or that there is none."""
    rung: ArithmeticShare
    """How many steps of the ladder hold of its gap; zero without a plan."""


async def finish(
    session: Session,
    state: ForestState,
    costs: ArithmeticShare,
    layout: Layout,
    shape: ForestShape,
    *,
    steps: Sequence[int] = (),
) -> Answer:
    """The plan and what is proved of it; `steps` are those of a ladder for its gap.

    >>> from tacit.mpc.forest import Coins, advance, plain, start
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> weights = deal_integers([[[7, 1], [2, 3]]])
    >>> layout = Layout(rows=2, columns=(0, 1), spread=9)
    >>> shape = layout.shape()
    >>> async def node(s):
    ...     costs = layout.costs(weights[s.me], [(0, 9)], shape)
    ...     state = await start(s, costs, shape, Coins(1))
    ...     state = await advance(s, state, costs, plain(2, 2), shape, Coins(1))
    ...     return (await finish(s, state, costs, layout, shape)).plan
    >>> outcome, *plan = reveal(run_parties(node).results)[0].tolist()
    >>> Outcome(outcome).name, plan
    ('OPTIMUM', [1, 0])
    """
    k, word = shape.weightings, shape.word
    matching = await completion.complete(session, state, shape)
    if state.first is not None:
        matching = await better.cheaper(session, matching, state.first, costs, shape)
    proved = await certificate.prove(
        session, costs, matching, state, layout.forbidden_cells, shape, steps=steps
    )
    bounded = await both(session, proved.bounded, proved.feasible, label="finish.bounded")
    bits = concatenate([proved.optimal, proved.feasible, bounded])
    numbers = await b2a.bits_to_arithmetic(session, bits, label="finish.bits", dtype=word)
    optimal, feasible, bound = (numbers[i * k : (i + 1) * k] for i in range(3))
    plan = matching.map(layout.plan_of)
    shown = ArithmeticShare(
        {
            c: np.column_stack(
                [p, proved.total.parts[c], proved.gap.parts[c], *_if(steps, proved.rung.parts[c])]
            )
            for c, p in plan.parts.items()
        }
    )
    flags = ArithmeticShare(
        {
            c: np.stack(
                [*[part] * (layout.rows + 1), bound.parts[c], *_if(steps, bound.parts[c])], axis=1
            )
            for c, part in feasible.parts.items()
        }
    )
    opened = await pairwise.multiply(session, flags, shown, label="finish.shown")
    outcome = optimal + feasible.map(lambda part: part * word.type(2))
    rows = layout.rows

    def beside(first: ArithmeticShare, second: ArithmeticShare) -> ArithmeticShare:
        return ArithmeticShare(
            {c: np.column_stack([p, second.parts[c]]) for c, p in first.parts.items()}
        )

    return Answer(
        beside(outcome, opened[:, :rows]),
        beside(bound, opened[:, rows : rows + 2]),
        proved.optimal,
        opened[:, rows + 2 :],
    )


def _if(steps: Sequence[int], part: Words) -> list[Words]:
    return [part] if steps else []


def cost(
    nodes: int,
    layout: Layout,
    shape: ForestShape,
    *,
    after_search: bool = False,
    steps: Sequence[int] = (),
) -> Cost:
    """The cost of the end."""
    k, word = shape.weightings, shape.word
    total = completion.cost(nodes, shape)
    if after_search:
        total = total.then(better.cost(nodes, shape))
    total = total.then(certificate.cost(nodes, shape, steps=steps))
    total = total.then(bit_products.cost(nodes, k)).then(b2a.cost(nodes, 3 * k, word))
    shown = k * (layout.rows + 2 + bool(steps))
    return total.then(pairwise.cost(nodes, shown, itemsize=word.itemsize))


def first_letters(nodes: int, shape: ForestShape) -> list[Letter]:
    """The letters of the first round, with which greetings go."""
    return shuffle.first_letters(nodes, (2 * shape.weightings * shape.size, 1), shape.word)
