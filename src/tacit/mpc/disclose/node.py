"""One evaluation at a node: from shares of the fitness to what the coordinator may learn.

::

    none        open the fitness to the coordinator                              1 round
    otherwise   append the tie-breaking index, shuffle keys and fitness          2 (four nodes: 3)
                compare the shuffled keys and open the comparisons               1 + log2 bits
                order, quantiles, top:  labels of the ranks to the coordinator   2 (3)
                above, buckets:         compare with thresholds, bits back       as both above
                best fitness            beside the last step

The coordinator learns the disclosure, and so do the nodes where they are told it. Otherwise the
nodes learn the ranks of shuffled positions, a uniformly random permutation that is independent of
the fitness. Ranking after [hamada2012], shuffle
after [araki2021], comparison after [mohassel2018].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.mpc.bound import FitnessBound, check_bound_fits, index_bits, key_bits
from tacit.mpc.cost import Cost
from tacit.mpc.disclose import best as best_of
from tacit.mpc.disclose import thresholds
from tacit.mpc.disclose.answer import DisclosedValues, labels_of_ranks, read_answer, searched_best
from tacit.mpc.linear import scale
from tacit.mpc.protocols import opening, shuffle
from tacit.mpc.protocols.order import draw_order
from tacit.mpc.rank.all_pairs import cost as all_pairs_cost
from tacit.mpc.rank.all_pairs import rank_all_pairs
from tacit.mpc.rank.pivots import cost as pivots_cost
from tacit.mpc.rank.pivots import rank_by_pivots
from tacit.mpc.rank.result import Ranking
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array
from tacit.mpc.spec import Best, Spec

ALL_PAIRS_LIMIT = 1000
"""The largest population whose pairs are all compared at once."""


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What a node keeps of an evaluation."""

    best_so_far: ArithmeticShare | None
    """The state for the next evaluation, if the best is disclosed as `improvement`."""
    batches: tuple[int, ...] = ()
    """Comparisons that each batch opened; they depend on the random secret order alone."""
    told: DisclosedValues | None = None
    """What was disclosed, where the nodes are told it."""


def _keys(fitness: ArithmeticShare) -> ArithmeticShare:
    """Fitness with the tie-breaking index in low bits: of equals, the lower index is larger."""
    n = len(fitness)
    down = np.arange(n - 1, -1, -1, dtype=np.uint64)
    return scale(fitness, 1 << index_bits(n)).add_public(down)


def _columns(keys: ArithmeticShare, fitness: ArithmeticShare) -> ArithmeticShare:
    parts = fitness.parts
    return ArithmeticShare({c: np.stack([key, parts[c]], axis=1) for c, key in keys.parts.items()})


async def _rank(
    session: Session, keys: ArithmeticShare, kept: ArithmeticShare, bits: int
) -> Ranking:
    rank = rank_all_pairs if len(keys) <= ALL_PAIRS_LIMIT else rank_by_pivots
    return await rank(session, keys, kept, bits=bits, label="rank")


async def evaluate(
    session: Session,
    fitness: ArithmeticShare,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    best_so_far: ArithmeticShare | None = None,
    told: bool = False,
) -> Evaluated:
    """A node's side of one evaluation; the coordinator runs `collect`.

    With the best as `improvement`, pass the result's `best_so_far` to the next evaluation; it is
    None before the first. In the other modes it is returned unchanged. Where the nodes are `told`
    what is disclosed, the result has that too; whether the best improved stays with the
    coordinator, since no search needs it.

    >>> from tacit.mpc.disclose.coordinator import collect
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f = deal_integers([-5, 3, 3, 0])
    >>> ask = {"spec": Spec.parse("order"), "bound": FitnessBound(-9, 9), "best": "value"}
    >>> run = run_parties(
    ...     lambda s: evaluate(s, f[s.me], told=True, **ask),
    ...     lambda s: collect(s, 4, **ask),
    ... )
    >>> run.coordinator.labels, run.coordinator.best_value
    (array([3, 0, 1, 2]), 3)
    >>> run.results[1].told.labels, run.results[1].told.best_value
    (array([3, 0, 1, 2]), 3)
    """
    n = len(fitness)
    spec.check(n)
    check_bound_fits(bound, n, spec)

    def answer(rows: Array | None, value: Array | None) -> DisclosedValues | None:
        if rows is None:
            return None
        known = searched_best(spec, best)
        return read_answer(rows, value, spec=spec, bound=bound, best=known, rounds=session.depth)

    if spec.kind == "none":
        rows = await opening.disclose(session, fitness, told=told)
        return Evaluated(best_so_far, told=answer(rows, None))
    order = draw_order(session, n, label="order")
    keys = _keys(fitness)
    if best == "nothing" and not spec.has_thresholds:
        mixed = await shuffle.shuffle(session, keys, order, label="shuffle")
        values = mixed[:0]
    else:
        both = await shuffle.shuffle(session, _columns(keys, fitness), order, label="shuffle")
        mixed, values = both[:, 0], both[:, 1]
    kept = values[:0]
    if best == "improvement" and best_so_far is not None:
        kept = best_so_far - values
    ranking = await _rank(session, mixed, kept, key_bits(bound, n))

    async def disclose(substream: Session) -> tuple[ArithmeticShare | None, Array | None]:
        if spec.has_thresholds:
            return best_so_far, await thresholds.disclose_thresholds(
                substream, values, ranking, order, spec=spec, bound=bound, label="tests", told=told
            )
        public = labels_of_ranks(ranking.ranks, spec)
        return best_so_far, await shuffle.labels_to_coordinator(
            substream, public, order, label="labels", told=told
        )

    async def disclose_best(substream: Session) -> tuple[ArithmeticShare | None, Array | None]:
        return await best_of.disclose_best(
            substream, values, ranking, best=best, best_so_far=best_so_far, label="best", told=told
        )

    substreams = [disclose] if best == "nothing" else [disclose, disclose_best]
    done = await session.in_parallel(*substreams)
    return Evaluated(done[-1][0], ranking.batches, answer(done[0][1], done[-1][1]))


def cost(
    nodes: int,
    n: int,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    has_best: bool = False,
    told: bool = False,
    batches: Sequence[int] | None = None,
) -> Cost:
    """The cost of an evaluation, the delivery to the coordinator included.

    Above `ALL_PAIRS_LIMIT` individuals, `batches` are the sizes of the three batches that the
    random order led to; without them, typical ones are assumed.

    >>> ask = {"bound": FitnessBound(0, 2**18 - 1), "best": "value"}
    >>> cost(3, 300, spec=Spec.parse("order"), **ask).rounds
    9
    >>> cost(4, 300, spec=Spec.parse("buckets:5"), **ask).rounds
    18
    """
    if spec.kind == "none":
        return opening.cost_to_coordinator(nodes, n, told=told)
    payload = best != "nothing" or spec.has_thresholds
    total = shuffle.cost(nodes, (n, 2) if payload else (n,))
    kept = n if best == "improvement" and has_best else 0
    bits = key_bits(bound, n)
    if n <= ALL_PAIRS_LIMIT:
        total = total.then(all_pairs_cost(nodes, n, kept, bits=bits))
    else:
        assumed = [round(n ** (4 / 3))] * 3 if batches is None else batches
        total = total.then(pivots_cost(nodes, assumed, kept, bits=bits))
    label = np.dtype(np.uint32)
    last = (
        thresholds.cost(nodes, n, spec=spec, bound=bound, told=told)
        if spec.has_thresholds
        else shuffle.cost_to_coordinator(nodes, (n,), label, public=True, told=told)
    )
    return total.then(last.beside(best_of.cost(nodes, best, has_best=has_best, told=told)))
