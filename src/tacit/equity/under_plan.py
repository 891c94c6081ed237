"""What each participant pays under a plan: a public one, or one that stays shares.

*Public*: a sum of cells, without a message.

*Secret*, the column of each row in shares: with l_c = [column < c], which is 0 for c = 0 and 1 for
c = the number of columns, the cell of a row is

::

    sum over c of cost_c (l_(c+1) - l_c)
    = last cost + sum over c >= 1 of l_c (cost_(c-1) - cost_c)

All l_c are found by one batch of comparisons of few bits, and each chooses a difference or zero
(`protocols/choose`). The rounds of a comparison, and 2. Nobody learns anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.equity.shape import EquityShape
from tacit.mpc.cost import Cost
from tacit.mpc.protocols import choose, less_than
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


def public_plan_costs(
    costs: ArithmeticShare, plan: NDArray[np.integer[Any]], shape: EquityShape
) -> ArithmeticShare:
    """Shares of what each participant that has rows pays under a public plan; no message."""
    rows = np.arange(shape.rows)
    return costs.map(lambda part: shape.by_owner(part[rows, plan]))


def _column_bits(shape: EquityShape) -> int:
    """The bits of a column minus another, with its sign."""
    return 1 + (shape.columns - 1).bit_length()


async def secret_plan_costs(
    session: Session,
    costs: ArithmeticShare,
    plan: ArithmeticShare,
    shape: EquityShape,
    *,
    label: str,
) -> ArithmeticShare:
    """The same under a plan in shares, whose ring may be another.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> shape = EquityShape([0, 1, 2], columns=3, bound=9)
    >>> costs, plan = deal_integers([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), deal_integers([2, 0, 1])
    >>> reveal(run_parties(
    ...     lambda s: secret_plan_costs(s, costs[s.me], plan[s.me], shape, label="p")
    ... ).results)
    array([3, 4, 8])
    """
    word = plan.dtype
    after = np.arange(1, shape.columns, dtype=word)
    behind = plan.map(lambda part: np.repeat(part, len(after)))
    behind = behind.add_public(np.tile(np.negative(after), shape.rows))
    signs = await less_than.compare_batch(
        session, behind[:0], behind, bits=_column_bits(shape), label=f"{label}.columns"
    )
    falls = costs.map(lambda part: (part[:, :-1] - part[:, 1:]).reshape(-1))
    chosen = await choose.choose(session, signs.kept, falls, label=f"{label}.cells")
    cells = chosen.map(lambda part: part.reshape(shape.rows, -1).sum(axis=1, dtype=part.dtype))
    return (cells + costs[:, -1]).map(shape.by_owner)


def cost_of_secret(nodes: int, shape: EquityShape) -> Cost:
    """The cost under a plan in shares."""
    count = shape.rows * (shape.columns - 1)
    compared = less_than.cost(nodes, 0, count, bits=_column_bits(shape))
    return compared.then(choose.cost(nodes, count, shape.word))
