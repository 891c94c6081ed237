"""How far apart the balances of a series are: the largest minus the least, as one share.

Balances and their negatives are two groups of one minimum (`protocols/minimum`), told apart by
their index where they are equal. The nodes learn the orders of uniform rankings, that is, nothing.
Whoever opens the result opens nothing but the spread.
"""

from __future__ import annotations

import numpy as np

from tacit.equity.rule import BALANCE_BITS
from tacit.mpc.cost import Cost
from tacit.mpc.letters import WORD
from tacit.mpc.protocols import minimum
from tacit.mpc.protocols.minimum import find_least, with_ties
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, concatenate


def _tie_bits(count: int) -> int:
    return (count - 1).bit_length()


async def balance_spread(
    session: Session, balances: ArithmeticShare, *, label: str
) -> ArithmeticShare:
    """Shares of the largest balance minus the least.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> b = deal_integers([5, -7, 2])
    >>> reveal(run_parties(lambda s: balance_spread(s, b[s.me], label="s")).results)
    array([12])
    """
    count = len(balances)
    ties = _tie_bits(count)
    found = await find_least(
        session,
        with_ties(
            concatenate([balances, balances.map(np.negative)]),
            np.tile(np.arange(count), 2),
            tie_bits=ties,
        ),
        (count, count),
        bits=BALANCE_BITS + ties,
        label=label,
    )
    ends = found.lines[:, 1].map(np.negative)
    return ends.map(lambda part: part.sum(keepdims=True, dtype=part.dtype))


def cost(nodes: int, count: int) -> Cost:
    """The cost of the spread of so many balances."""
    bits = BALANCE_BITS + _tie_bits(count)
    return minimum.cost(nodes, (count, count), bits=bits, dtype=WORD, columns=2)
