"""One evaluation at a node: from shares of the fitness to what the coordinator may learn.

::

    none        open the fitness to the coordinator                              1 round
    otherwise   append the tie-breaking index, shuffle keys and fitness          2
                compare the shuffled keys and open the comparisons               1 + log2 bits
                order, quantiles, top:  labels of the ranks to the coordinator   2
                above, buckets:         compare with thresholds, bits back       1 + log2 bits + 2
                best fitness            beside the last step

The coordinator learns the disclosure. The nodes learn the ranks of shuffled positions, a
uniformly random permutation that is independent of the fitness. Ranking after [hamada2012], shuffle
after [araki2021], comparison after [mohassel2018].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.bound import FitnessBound, check_bound_fits, index_bits, key_bits
from tacit.mpc.cost import Cost
from tacit.mpc.disclose import best as best_of
from tacit.mpc.disclose import thresholds
from tacit.mpc.linear import add_public, scale, subtract
from tacit.mpc.protocols import labels, opening, shuffle
from tacit.mpc.rank.all_pairs import cost as all_pairs_cost
from tacit.mpc.rank.all_pairs import rank_all_pairs
from tacit.mpc.rank.pivots import cost as pivots_cost
from tacit.mpc.rank.pivots import rank_by_pivots
from tacit.mpc.rank.result import Ranking
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare
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


def labels_of_ranks(ranks: NDArray[np.intp], spec: Spec) -> NDArray[np.uint32]:
    """What order, quantiles and top disclose of an individual with this rank.

    >>> labels_of_ranks(np.arange(11), Spec.parse("quantiles:3"))
    array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], dtype=uint32)
    """
    n, k = len(ranks), spec.parameter
    if spec.kind == "quantiles":
        return (k - 1 - ((n - 1 - ranks) * k) // n).astype(np.uint32)
    if spec.kind == "top":
        return (ranks < k).astype(np.uint32)
    return ranks.astype(np.uint32)


def _keys(session: Session, fitness: ArithmeticShare) -> ArithmeticShare:
    """Fitness with the tie-breaking index in low bits: of equals, the lower index is larger."""
    n = len(fitness)
    down = np.arange(n - 1, -1, -1, dtype=np.uint64)
    return add_public(scale(fitness, 1 << index_bits(n)), down, me=session.me)


def _columns(keys: ArithmeticShare, fitness: ArithmeticShare) -> ArithmeticShare:
    return ArithmeticShare(
        np.stack([keys.mine, fitness.mine], axis=1), np.stack([keys.next, fitness.next], axis=1)
    )


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
) -> Evaluated:
    """A node's side of one evaluation; the coordinator runs `collect`.

    With the best as `improvement`, pass the result's `best_so_far` to the next evaluation; it is
    None before the first. In the other modes it is returned unchanged.

    >>> from tacit.mpc.disclose.coordinator import collect
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f = deal_integers([-5, 3, 3, 0])
    >>> ask = {"spec": Spec.parse("order"), "bound": FitnessBound(-9, 9), "best": "value"}
    >>> run = run_parties(
    ...     lambda s: evaluate(s, f[s.me], **ask),
    ...     lambda s: collect(s, 4, **ask),
    ... )
    >>> run.coordinator.labels, run.coordinator.best_value
    (array([3, 0, 1, 2]), 3)
    """
    n = len(fitness)
    spec.check(n)
    check_bound_fits(bound, n, spec)
    if spec.kind == "none":
        await opening.open_to_coordinator(session, fitness, label="fitness")
        return Evaluated(best_so_far)
    order = shuffle.draw_order(session, n, label="order")
    keys = _keys(session, fitness)
    if best == "nothing" and not spec.has_thresholds:
        mixed = await shuffle.shuffle(session, keys, order, label="shuffle")
        values = mixed[:0]
    else:
        both = await shuffle.shuffle(session, _columns(keys, fitness), order, label="shuffle")
        mixed, values = both[:, 0], both[:, 1]
    kept = values[:0]
    if best == "improvement" and best_so_far is not None:
        kept = subtract(best_so_far, values)
    ranking = await _rank(session, mixed, kept, key_bits(bound, n))

    async def disclose(substream: Session) -> ArithmeticShare | None:
        if spec.has_thresholds:
            await thresholds.disclose_thresholds(
                substream, values, ranking, order, spec=spec, bound=bound, label="tests"
            )
        else:
            public = labels_of_ranks(ranking.ranks, spec)
            await labels.labels_to_coordinator(substream, public, order, label="labels")
        return best_so_far

    async def disclose_best(substream: Session) -> ArithmeticShare | None:
        return await best_of.disclose_best(
            substream, values, ranking, best=best, best_so_far=best_so_far, label="best"
        )

    substreams = [disclose] if best == "nothing" else [disclose, disclose_best]
    states = await session.in_parallel(*substreams)
    return Evaluated(states[-1], ranking.batches)


def cost(
    n: int,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    has_best: bool = False,
    batches: Sequence[int] | None = None,
) -> Cost:
    """The cost of an evaluation, the delivery to the coordinator included.

    Above `ALL_PAIRS_LIMIT` individuals, `batches` are the sizes of the three batches that the
    random order led to; without them, typical ones are assumed.

    >>> ask = {"bound": FitnessBound(0, 2**18 - 1), "best": "value"}
    >>> cost(300, spec=Spec.parse("order"), **ask).rounds
    10
    >>> cost(300, spec=Spec.parse("buckets:5"), **ask).rounds
    16
    """
    if spec.kind == "none":
        return opening.cost_to_coordinator(n)
    payload = best != "nothing" or spec.has_thresholds
    total = shuffle.cost(n, row_bytes=16 if payload else 8)
    kept = n if best == "improvement" and has_best else 0
    bits = key_bits(bound, n)
    if n <= ALL_PAIRS_LIMIT:
        total = total.then(all_pairs_cost(n, kept, bits=bits))
    else:
        assumed = [round(n ** (4 / 3))] * 3 if batches is None else batches
        total = total.then(pivots_cost(assumed, kept, bits=bits))
    last = (
        thresholds.cost(n, spec=spec, bound=bound)
        if spec.has_thresholds
        else labels.cost_to_coordinator(n)
    )
    return total.then(last.beside(best_of.cost(best, has_best=has_best)))
