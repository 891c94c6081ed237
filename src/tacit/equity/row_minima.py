"""The least cost of every row, added up for each participant: what it would pay at best.

One minimum over all rows at once (`protocols/minimum`); a row's cells that are not allowed take no
part. Equal costs are told apart by their column, which is public. The nodes learn the orders of
uniform rankings, that is, nothing.
"""

from __future__ import annotations

import numpy as np

from tacit.equity.shape import EquityShape
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import minimum
from tacit.mpc.protocols.minimum import find_least, with_ties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


def _sizes(shape: EquityShape) -> tuple[int, ...]:
    return tuple(int(count) for count in shape.allowed.sum(axis=1))


async def least_costs(
    session: Session, costs: ArithmeticShare, shape: EquityShape, *, label: str
) -> ArithmeticShare:
    """Shares of the sum of the least allowed costs of each participant's rows.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> shape = EquityShape([0, 1, 2, 2], columns=2, bound=9)
    >>> costs = deal_integers([[3, 4], [5, 5], [9, 1], [2, 7]])
    >>> reveal(run_parties(lambda s: least_costs(s, costs[s.me], shape, label="m")).results)
    array([3, 5, 3])
    """
    cells = costs.map(lambda part: part[shape.allowed])
    columns = np.nonzero(shape.allowed)[1]
    found = await find_least(
        session,
        with_ties(cells, columns, tie_bits=shape.tie_bits),
        _sizes(shape),
        bits=shape.key_bits,
        label=label,
    )
    return found.lines[:, 1].map(shape.by_owner)


def cost(nodes: int, shape: EquityShape) -> Cost:
    """The cost of the least costs."""
    return minimum.cost(nodes, _sizes(shape), bits=shape.key_bits, dtype=shape.word, columns=2)
