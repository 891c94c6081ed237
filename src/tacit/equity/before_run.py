"""Before a run: from stored steps to balances, factors and the weights that are searched.

A balance is a sum of shares with public weights, without a message. The factor is the least one
plus the number of public thresholds that the balance is below: one batch of comparisons of 36 bits,
whose signs become numbers, 9 rounds. One product multiplies all weights. Nobody learns anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.equity.rule import BALANCE_BITS, MEMORY, EquityRule
from tacit.mpc.cost import Cost
from tacit.mpc.linear import scale
from tacit.mpc.protocols import b2a, less_than, pairwise
from tacit.mpc.ring import to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, concatenate


def balances(steps: Sequence[ArithmeticShare], rule: EquityRule) -> ArithmeticShare:
    """Shares of all balances, from each participant's own steps in order, the last one last.

    Who never took part has an empty array.

    >>> from tacit.mpc.local import deal_integers, reveal
    >>> own = deal_integers([1000, 500])
    >>> reveal([balances([each, each[:0]], EquityRule(decay=500)) for each in own])
    array([256000,      0])
    """
    weights = to_ring(rule.weights)
    made = []
    for own in steps:
        last = own[::-1][:MEMORY]
        counted = scale(last, weights[: len(last)])
        made.append(counted.map(lambda part: part.sum(keepdims=True, dtype=np.uint64)))
    return concatenate(made)


async def factors(
    session: Session, balances: ArithmeticShare, rule: EquityRule, *, label: str
) -> ArithmeticShare:
    """Shares of the factor of each participant.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> b = deal_integers([0, 1 << 26, -(1 << 33)])
    >>> run = run_parties(lambda s: factors(s, b[s.me], EquityRule(), label="f"))
    >>> reveal(run.results)
    array([16, 14, 20])
    """
    count, each = len(balances), len(rule.thresholds)
    who = np.repeat(np.arange(count), each)
    thresholds = np.tile(to_ring(rule.thresholds), count)
    below = balances[who].add_public(np.negative(thresholds))
    signs = await less_than.compare_batch(
        session, below[:0], below, bits=BALANCE_BITS, label=f"{label}.thresholds"
    )
    gained = await b2a.bits_to_arithmetic(session, signs.kept, label=f"{label}.levels")

    def counted(part: NDArray[np.uint64]) -> NDArray[np.uint64]:
        made: NDArray[np.uint64] = part.reshape(count, each).sum(axis=1, dtype=np.uint64)
        return made

    return gained.map(counted).add_public(to_ring([rule.least_factor]))


async def multiplied(
    session: Session,
    weights: ArithmeticShare,
    factors: ArithmeticShare,
    owners: Sequence[int],
    *,
    label: str,
) -> ArithmeticShare:
    """Shares of the weights, rows x columns, each row times its owner's factor. 1 round.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> w, f = deal_integers([[1, 2], [3, 4]]), deal_integers([15, 17])
    >>> run = run_parties(lambda s: multiplied(s, w[s.me], f[s.me], [1, 0], label="w"))
    >>> reveal(run.results)
    array([[17, 34],
           [45, 60]])
    """
    by_row = factors[np.array(owners)][:, None]
    return await pairwise.multiply(session, weights, by_row, label=label)


def cost(nodes: int, rule: EquityRule, participants: int, *, rows: int, columns: int) -> Cost:
    """The cost of factors and of multiplying the weights."""
    compared = participants * len(rule.thresholds)
    total = less_than.cost(nodes, 0, compared, bits=BALANCE_BITS)
    return total.then(b2a.cost(nodes, compared)).then(pairwise.cost(nodes, rows * columns))
