"""The Pareto score of candidates: fewer dominators first, then more room among neighbours.

::

    one secret order per objective, all in one shuffle                   2 rounds (four nodes: 3)
    rank each objective in its own order; beside it, who is smaller      1 + log2 bits
      in the others of whom, in the first order, as shares
    dominators counted, gaps times spans                                 2
    back to the original positions                                       2 (3)
    score = (n - 1 - dominators) 2^B + crowding

The score is then disclosed as a fitness would be (`disclose`), in a fresh secret order. The nodes
learn the ranks of shuffled positions, once per objective: uniformly random permutations that are
independent of each other and of the fitness. So one order per objective is needed; with one for
all they would see how the objectives go together. Nobody learns anything else.

Dominators as in NSGA-II [deb2002], counted instead of peeled; ranking after [hamada2012].
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import numpy as np

from tacit.mpc.bound import index_bits, key_bits
from tacit.mpc.cost import Cost
from tacit.mpc.linear import scale
from tacit.mpc.pareto import crowding, dominance
from tacit.mpc.pareto.widths import ParetoWidths
from tacit.mpc.protocols import shuffle
from tacit.mpc.protocols.order import draw_block_order
from tacit.mpc.rank.all_pairs import cost as all_pairs_cost
from tacit.mpc.rank.all_pairs import rank_all_pairs
from tacit.mpc.ring import Words, to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare, concatenate


def substreams_of(objectives: int) -> int:
    """How many substreams the score takes, before the answer's own."""
    return objectives + 1


def first_key(fitness: Sequence[ArithmeticShare], widths: ParetoWidths) -> ArithmeticShare:
    """What the first objective is ordered by: also by the sum of all others, then by index."""
    others = fitness[1]
    for each in fitness[2:]:
        others = others + each
    index = 1 << index_bits(widths.candidates)
    first = scale(fitness[0], index << widths.others_bits) + scale(others, index)
    return first.add_public(_down(widths))


def _keys(fitness: Sequence[ArithmeticShare], widths: ParetoWidths) -> list[ArithmeticShare]:
    """What each objective is ordered by: distinct, and of the first also by all others."""
    index = 1 << index_bits(widths.candidates)
    rest = [scale(each, index).add_public(_down(widths)) for each in fitness[1:]]
    return [first_key(fitness, widths), *rest]


def _down(widths: ParetoWidths) -> Words:
    return to_ring(np.arange(widths.candidates - 1, -1, -1))


def _columns(
    fitness: Sequence[ArithmeticShare], keys: Sequence[ArithmeticShare]
) -> ArithmeticShare:
    """A block of rows per objective: its key, and the fitness in all objectives."""

    def block(key: ArithmeticShare) -> ArithmeticShare:
        columns = (key, *fitness)
        return ArithmeticShare(
            {c: np.stack([each.parts[c] for each in columns], axis=1) for c in key.parts}
        )

    return concatenate([block(key) for key in keys])


def _rank_bits(widths: ParetoWidths) -> list[int]:
    others = [key_bits(bound, widths.candidates) for bound in widths.bounds[1:]]
    return [widths.first_bits, *others]


async def pareto_score(
    session: Session, fitness: Sequence[ArithmeticShare], widths: ParetoWidths
) -> ArithmeticShare:
    """Shares of the score, which are right modulo as many bits as a comparison of them looks at.

    The fitness is one share per objective, each of all candidates. See `widths.score_bound`.

    >>> from tacit.mpc.bound import FitnessBound
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> f, g = deal_integers([9, 4, 0, 3]), deal_integers([1, 2, 5, 2])
    >>> widths = ParetoWidths([FitnessBound(0, 9)] * 2, 4)
    >>> run = run_parties(lambda s: pareto_score(s, [f[s.me], g[s.me]], widths))
    >>> score = reveal(run.results) % (4 << widths.crowding_bits)
    >>> 3 - (score >> widths.crowding_bits), score % (1 << widths.crowding_bits)
    (array([0, 0, 0, 1]), array([200,  60, 200,  30]))
    """
    m, n = widths.objectives, widths.candidates
    order = draw_block_order(session, m, n, label="pareto.order")
    rows = _columns(fitness, _keys(fitness, widths))
    mixed = await shuffle.shuffle(session, rows, order, label="pareto.shuffle")
    blocks = [mixed[k * n : (k + 1) * n] for k in range(m)]
    lines = session.substreams(substreams_of(m))
    smaller: list[BitShare] = []

    async def compare(substream: Session) -> None:
        others = [blocks[0][:, 1 + k] for k in range(1, m)]
        smaller.append(
            await dominance.smaller_in_others(
                substream, others, bits=widths.dominance_bits, label="pareto.smaller"
            )
        )

    ranks: dict[int, Any] = {}

    def rank(k: int, bits: int) -> Callable[[Session], Coroutine[Any, Any, None]]:
        async def one(substream: Session) -> None:
            keys = blocks[k][:, 0]
            found = await rank_all_pairs(
                substream, keys, keys[:0], bits=bits, label=f"pareto.rank.{k}"
            )
            ranks[k] = found.ranks

        return one

    ranking = [rank(k, bits) for k, bits in enumerate(_rank_bits(widths))]
    await session.in_parallel(compare, *ranking, substreams=lines)

    async def dominators(substream: Session) -> ArithmeticShare:
        return await dominance.count_dominators(
            substream, smaller[0], ranks[0], label="pareto.dominators"
        )

    async def crowd(substream: Session) -> ArithmeticShare:
        values = [blocks[k][:, 1 + k] for k in range(m)]
        of = [ranks[k] for k in range(m)]
        return await crowding.crowd(substream, values, of, widths, label="pareto.crowding")

    dominated, crowded = await session.in_parallel(dominators, crowd, substreams=lines[:2])
    # Dominators are known modulo 2^16 only. They are the score's highest bits, so what is wrong
    # above them is cut off with all that lies above a comparison's bits.
    at_top = dominated.map(lambda part: part.astype(np.uint64) << np.uint64(widths.crowding_bits))
    parts = concatenate([crowded[0] - at_top, crowded[1:].map(np.ravel)])
    back = await shuffle.unshuffle(session, parts, order, label="pareto.back")
    total = back.map(lambda part: part.reshape(m, n).sum(axis=0, dtype=np.uint64))
    return total.add_public(to_ring([(n - 1) << widths.crowding_bits]))


def cost(nodes: int, widths: ParetoWidths) -> Cost:
    """The cost of the score; disclosing it comes on top."""
    m, n = widths.objectives, widths.candidates
    compared = dominance.cost_of_signs(nodes, n, m, bits=widths.dominance_bits)
    for bits in _rank_bits(widths):
        compared = compared.beside(all_pairs_cost(nodes, n, 0, bits=bits))
    counted = dominance.cost(nodes, n, m).beside(crowding.cost(nodes, widths))
    total = shuffle.cost(nodes, (m * n, 1 + m)).then(compared).then(counted)
    return total.then(shuffle.cost_back(nodes, (m * n,)))
