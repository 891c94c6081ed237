"""The first duals of a forest: the least cost of each column, then of each row what is left.

Two minima one after the other. Nobody learns anything.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.forest import minima
from tacit.mpc.forest.coins import PROFITS, ROOTS, START, Coins
from tacit.mpc.forest.minima import line_minima
from tacit.mpc.forest.shape import ForestShape
from tacit.mpc.forest.state import ForestState
from tacit.mpc.letters import Letter
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


def transposed(table: ArithmeticShare, /) -> ArithmeticShare:
    """Each weighting's matrix with rows and columns exchanged."""
    return table.map(lambda part: np.ascontiguousarray(part.swapaxes(-1, -2)))


async def start(
    session: Session, costs: ArithmeticShare, shape: ForestShape, coins: Coins
) -> ForestState:
    """Nothing is matched, and the duals are feasible. `costs` are weightings x rows x columns.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> costs = deal_integers([[[21, 3], [6, 9]]])  # scaled by 3
    >>> shape = ForestShape(2, spread=7)
    >>> run = run_parties(lambda s: start(s, costs[s.me], shape, Coins(1)))
    >>> reveal([state.prices for state in run.results])
    array([[6, 3]])
    """
    size = shape.size
    columns = await line_minima(
        session, transposed(costs), coins.ties(START, ROOTS, size, size), shape, label="prices"
    )
    prices = columns.values
    rows = await line_minima(
        session,
        costs - prices[:, None, :],
        coins.ties(START, PROFITS, size, size),
        shape,
        label="profits",
    )
    nothing = np.zeros(shape.square, dtype=costs.dtype)
    return ForestState(
        BitShare(dict.fromkeys(session.held, nothing.astype(np.uint8))),
        ArithmeticShare(dict.fromkeys(session.held, nothing)),
        prices,
        rows.values,
        ArithmeticShare(dict.fromkeys(session.held, nothing[:, 0])),
    )


def cost(nodes: int, shape: ForestShape) -> Cost:
    """The cost of the first duals."""
    each = minima.cost(nodes, shape, shape.size)
    return each.then(each)


def first_letters(nodes: int, shape: ForestShape) -> list[Letter]:
    """The letters of the first round, with which greetings go."""
    return minima.first_letters(nodes, shape, shape.size)
