"""Parent selection: parents are paired, and both of a pair continue from the better one.

The pairs are public; which of the two is better stays a share. It was compared before the
generation, in the same batch as everything else, so a pair costs 1 round and one word per cell of a
table. Nobody learns anything.
"""

from __future__ import annotations

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import multiply
from tacit.mpc.sealed.best import choose
from tacit.mpc.sealed.moves import Indices, TableShape
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


async def select_parents(
    session: Session,
    table: ArithmeticShare,
    pairs: Indices,
    is_second: ArithmeticShare,
    *,
    label: str,
) -> ArithmeticShare:
    """Shares of all parents' tables after selection in these pairs.

    >>> import numpy as np
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> tables, second = deal_integers([[[5]], [[8]], [[1]]]), deal_integers([1])
    >>> reveal(run_parties(lambda s: select_parents(s, tables[s.me], np.array([[0, 1]]),
    ...                                             second[s.me], label="m")).results).ravel()
    array([8, 8, 1])
    """
    if not len(pairs):
        return table
    first, second = pairs.T
    chosen = await choose(session, table[first], table[second], is_second, label=label)
    made = ArithmeticShare(table.mine.copy(), table.next.copy())
    for number in (first, second):
        made.mine[number] = chosen.mine
        made.next[number] = chosen.next
    return made


def cost(pairs: int, about: TableShape) -> Cost:
    """The cost of selection in this many pairs."""
    if not pairs:
        return Cost.free()
    cells = pairs * about.columns * (about.rows + 1)
    return multiply.cost(cells, itemsize=about.word.itemsize)
