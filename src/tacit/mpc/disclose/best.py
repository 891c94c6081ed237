"""How the best fitness is disclosed: its value, whether it is an improvement, or not at all.

The shuffled position of the best individual is public, so the nodes hold its share.

*value*: opened to the coordinator. 1 round.
*improvement*: the sign of (best so far - fitness) was found for every shuffled position in the
ranking's own batch and kept as shares; the one of the best position is opened to the coordinator,
and selects, on shares, the new best so far. 1 round to the coordinator; the new
state takes 2 rounds, beside the delivery of the labels.

The nodes learn nothing in either case, not even whether it was an improvement; the value they learn
where they are told what is disclosed.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.cost import Cost
from tacit.mpc.protocols import choose, opening
from tacit.mpc.rank.result import Ranking
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare, public_share
from tacit.mpc.spec import Best


async def disclose_best(
    session: Session,
    fitness: ArithmeticShare,
    ranking: Ranking,
    *,
    best: Best,
    best_so_far: ArithmeticShare | None,
    label: str,
    told: bool = False,
) -> tuple[ArithmeticShare | None, Array | None]:
    """A node's side: the share of the best so far, if the nodes keep one, and what they are told.

    `fitness` is shuffled as the ranking is. The first evaluation counts as an improvement.

    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> f, old = deal_integers([4, 9]), deal_integers([6])
    >>> async def node(s):
    ...     kept = BitShare(dict.fromkeys(s.held, np.zeros(2, dtype=np.uint8)))
    ...     ranking = Ranking(np.array([1, 0]), kept, (1,))
    ...     state, _ = await disclose_best(s, f[s.me], ranking, best="improvement",
    ...                            best_so_far=old[s.me], label="best")
    ...     return state
    >>> reveal(run_parties(node).results)  # the kept signs say that nobody is better
    array([6])
    """
    where = ranking.position(0)
    candidate = fitness[where : where + 1]
    if best == "value":
        return best_so_far, await opening.disclose(session, candidate, told=told)
    if best_so_far is None:
        one = np.ones(1, dtype=np.uint8)
        yes = public_share(one, BitShare, me=session.me, nodes=session.nodes)
        await opening.disclose(session, yes)
        return candidate, None
    better = ranking.kept[where : where + 1]
    await opening.disclose(session, better)
    gain = await choose.choose(session, better, candidate - best_so_far, label=f"{label}.gain")
    return best_so_far + gain, None


def cost(nodes: int, best: Best, *, has_best: bool, told: bool) -> Cost:
    """The cost of disclosing the best; `has_best` says whether there is a best so far."""
    if best == "nothing":
        return Cost.free(nodes)
    if best == "value":
        return opening.cost_to_coordinator(nodes, 1, told=told)
    bit = opening.cost_to_coordinator(nodes, 1, itemsize=1)
    if not has_best:
        return bit
    return bit.beside(choose.cost(nodes, 1))
