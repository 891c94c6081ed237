"""How the best fitness is disclosed: its value, whether it is an improvement, or not at all.

The shuffled position of the best individual is public, so the nodes hold its share.

*value*: opened to the coordinator. 1 round.
*improvement*: the sign of (best so far - fitness) was found for every shuffled position in the
ranking's own batch and kept as shares; the one of the best position is opened to the coordinator,
and selects, on shares, the new best so far. 1 round to the coordinator; the new
state takes a conversion and a product, 2 rounds, beside the delivery of the labels.

The nodes learn nothing in either case, not even whether it was an improvement.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.linear import add, subtract
from tacit.mpc.protocols import b2a, multiply, opening
from tacit.mpc.rank.result import Ranking
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, public_share
from tacit.mpc.spec import Best


async def disclose_best(
    session: Session,
    fitness: ArithmeticShare,
    ranking: Ranking,
    *,
    best: Best,
    best_so_far: ArithmeticShare | None,
    label: str,
) -> ArithmeticShare | None:
    """A node's side; returns the share of the best so far, if the nodes keep one.

    `fitness` is shuffled as the ranking is. The first evaluation counts as an improvement.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> f, old = deal_integers([4, 9]), deal_integers([6])
    >>> async def node(s):
    ...     kept = BitShare(*(np.zeros(2, dtype=np.uint8),) * 2)
    ...     ranking = Ranking(np.array([1, 0]), kept, (1,))
    ...     return await disclose_best(s, f[s.me], ranking, best="improvement",
    ...                            best_so_far=old[s.me], label="best")
    >>> reveal(run_parties(node).results)  # the kept signs say that nobody is better
    array([6])
    """
    where = ranking.position(0)
    candidate = fitness[where : where + 1]
    if best == "value":
        await opening.open_to_coordinator(session, candidate, label=f"{label}.value")
        return best_so_far
    if best_so_far is None:
        yes = public_share(np.ones(1, dtype=np.uint8), BitShare, me=session.me)
        await opening.open_to_coordinator(session, yes, label=f"{label}.bit")
        return candidate
    better = ranking.kept[where : where + 1]
    await opening.open_to_coordinator(session, better, label=f"{label}.bit")
    chosen = await b2a.bits_to_arithmetic(session, better, label=f"{label}.b2a")
    gain = await multiply.multiply(
        session, chosen, subtract(candidate, best_so_far), label=f"{label}.gain"
    )
    return add(best_so_far, gain)


def cost(best: Best, *, has_best: bool) -> Cost:
    """The cost of disclosing the best; `has_best` says whether there is a best so far."""
    if best == "nothing":
        return Cost.free()
    if best == "value":
        return opening.cost_to_coordinator(1)
    bit = opening.cost_to_coordinator(1, itemsize=1)
    if not has_best:
        return bit
    return bit.beside(b2a.cost(1).then(multiply.cost(1)))
