"""One evaluation: from shares of the fitness to what the coordinator may learn.

::

    none        open the fitness to the coordinator                              1 round
    otherwise   append the tie-breaking index, shuffle keys and fitness          2 (four nodes: 3)
                compare the shuffled keys and open the comparisons               1 + log2 bits
                order, quantiles, top:  labels of the ranks to the coordinator   2 (3)
                above, buckets:         compare with thresholds, bits back       as both above
                best fitness            beside the last step

Nodes run `evaluate`, the coordinator `collect`; both read what was opened with `read_answer`, and
so does whoever checks a record. Nodes whose states differ open noise, which is rejected there.

Learns   the coordinator the disclosure, and so do the nodes where they are told it. Otherwise the
         nodes learn the ranks of shuffled positions, a uniformly random permutation that is
         independent of the fitness
Rounds   as above
Bytes    see docs/protocols/disclosure.md
Paper    ranking after [hamada2012], shuffle after [araki2021], comparison after [mohassel2018]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import AbortError, ParameterError
from tacit.mpc.cost import Cost
from tacit.mpc.disclose.spec import (
    Best,
    FitnessBound,
    Spec,
    check_bound_fits,
    index_bits,
    key_bits,
)
from tacit.mpc.disclose.values import (
    ALWAYS_ABOVE,
    cost_of_best,
    cost_of_thresholds,
    disclose_best,
    disclose_thresholds,
    groups_of,
    shape_of_bits,
)
from tacit.mpc.protocols import opening, shuffle
from tacit.mpc.protocols.ranking import (
    Ranking,
    cost_of_all_pairs,
    cost_of_pivots,
    rank_all_pairs,
    rank_by_pivots,
)
from tacit.mpc.protocols.shuffle import draw_order
from tacit.mpc.ring import from_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, as_columns, scale


@dataclass(frozen=True, slots=True)
class DisclosedValues:
    """What one evaluation disclosed.

    `labels` are, per individual: the fitness (none), the rank (order), the number of the quantile
    or bucket, or 1 for true and 0 for false (top, above).
    """

    labels: NDArray[np.int64]
    best_value: int | None
    improved: bool | None
    rounds: int


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
    # A kind that is forgotten here must not disclose the whole order.
    if spec.kind != "order":
        raise ParameterError(f"{spec} does not disclose by rank")
    return ranks.astype(np.uint32)


def searched_best(spec: Spec, best: Best) -> Best:
    """What of the best fitness a search makes something of, and so the nodes may be told."""
    return "value" if best == "value" and spec.kind != "none" else "nothing"


def _refuse(what: str) -> AbortError:
    return AbortError("the nodes", f"{what}; the answer is noise, ask again")


def _check_labels(disclosed: NDArray[np.int64], spec: Spec) -> None:
    n = len(disclosed)
    if spec.kind == "above":
        fits = int(disclosed.sum()) >= min(n, ALWAYS_ABOVE) and disclosed.max(initial=0) <= 1
    elif spec.kind == "buckets":
        # The best is in the first bucket; the worst may be too, if all are equal.
        fits = bool((disclosed == 0).any()) and disclosed.max() < spec.parameter
    else:
        expected = np.sort(labels_of_ranks(np.arange(n), spec))
        fits = np.array_equal(np.sort(disclosed), expected)
    # Nodes whose states differ open noise. It must not pass for an answer: a search would build on
    # it, and the ledger record it.
    if not fits:
        raise _refuse(f"sent labels that do not fit {spec}")


def _check_value(values: NDArray[np.int64], bound: FitnessBound) -> None:
    if (values < bound.low).any() or (values > bound.high).any():
        raise _refuse(f"sent a fitness outside {bound.low}..{bound.high}")


def read_answer(
    rows: Array,
    about_best: Array | None,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    rounds: int = 0,
    best_so_far: int | None = None,
) -> DisclosedValues:
    """The disclosed values from what was opened of the population, and of its best.

    `best_so_far` is used under the disclosure `none` only, where every value is seen and
    improvements are found by whoever sees them.

    >>> opened = np.array([[1], [0]], dtype=np.uint8)
    >>> ask = {"spec": Spec.parse("buckets:2"), "bound": FitnessBound(0, 9), "best": "nothing"}
    >>> read_answer(opened, None, **ask).labels
    array([1, 0])
    """
    if spec.kind == "none":
        values = from_ring(rows)
        _check_value(values, bound)
        top = int(values.max())
        improved = best_so_far is None or top > best_so_far
        shown = top if best == "value" else None
        return DisclosedValues(values, shown, improved if best == "improvement" else None, rounds)
    labels = groups_of(rows, spec) if spec.has_thresholds else rows.astype(np.int64)
    _check_labels(labels, spec)
    if best == "nothing" or about_best is None:
        return DisclosedValues(labels, None, None, rounds)
    if best == "value":
        value = from_ring(about_best)
        _check_value(value, bound)
        return DisclosedValues(labels, int(value[0]), None, rounds)
    if about_best[0] not in (0, 1):
        raise _refuse("sent an improvement that is neither yes nor no")
    return DisclosedValues(labels, None, bool(about_best[0]), rounds)


async def collect(
    session: Session,
    n: int,
    *,
    spec: Spec,
    bound: FitnessBound,
    best: Best,
    best_so_far: int | None = None,
) -> DisclosedValues:
    """The coordinator's side of one evaluation of n individuals; the nodes run `evaluate`.

    `best_so_far` is used under the disclosure `none` only, where the coordinator sees every value
    and finds improvements by itself.

    >>>
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f = deal_integers([-5, 3])
    >>> ask = {"spec": Spec.parse("top:1"), "bound": FitnessBound(-9, 9), "best": "improvement"}
    >>> run = run_parties(
    ...     lambda s: evaluate(s, f[s.me], **ask),
    ...     lambda s: collect(s, 2, **ask),
    ... )
    >>> run.coordinator.labels, run.coordinator.improved
    (array([0, 1]), True)
    """
    spec.check(n)

    async def rows(substream: Session) -> Array:
        shape, word = (
            (shape_of_bits(n, spec), np.uint8) if spec.has_thresholds else ((n,), np.uint32)
        )
        return await shuffle.receive_unshuffled(substream, shape, dtype=word, xor=True)

    async def of_best(substream: Session) -> Array:
        if best == "value":
            return await opening.receive_opened(substream, 1)
        return await opening.receive_opened(substream, 1, dtype=np.uint8, xor=True)

    about_best = None
    if spec.kind == "none":
        disclosed = await opening.receive_opened(session, n)
    elif best == "nothing":
        (disclosed,) = await session.in_parallel(rows)
    else:
        disclosed, about_best = await session.in_parallel(rows, of_best)
    return read_answer(
        disclosed,
        about_best,
        spec=spec,
        bound=bound,
        best=best,
        rounds=session.depth,
        best_so_far=best_so_far,
    )


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
    # Keys must be distinct: of equal ones the opened signs would tell that they are equal.
    down = np.arange(n - 1, -1, -1, dtype=np.uint64)
    return scale(fitness, 1 << index_bits(n)).add_public(down)


async def _rank(
    session: Session, keys: ArithmeticShare, kept: ArithmeticShare, bits: int
) -> Ranking:
    # All pairs take the fewest rounds, and memory that grows with the square.
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

    >>>
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
    # A fresh order for every evaluation, as its label belongs to the evaluation's keys: the same
    # order twice would let nodes follow an individual by its rank.
    order = draw_order(session, n, label="order")
    keys = _keys(fitness)
    if best == "nothing" and not spec.has_thresholds:
        mixed = await shuffle.shuffle(session, keys, order, label="shuffle")
        values = mixed[:0]
    else:
        both = await shuffle.shuffle(session, as_columns([keys, fitness]), order, label="shuffle")
        mixed, values = both[:, 0], both[:, 1]
    # Which position is the best is not known before the ranking. So its improvement is found for
    # all, beside the ranking, and stays shares.
    kept = values[:0]
    if best == "improvement" and best_so_far is not None:
        kept = best_so_far - values
    ranking = await _rank(session, mixed, kept, key_bits(bound, n))

    async def deliver(substream: Session) -> tuple[ArithmeticShare | None, Array | None]:
        if spec.has_thresholds:
            return best_so_far, await disclose_thresholds(
                substream, values, ranking, order, spec=spec, bound=bound, label="tests", told=told
            )
        public = labels_of_ranks(ranking.ranks, spec)
        return best_so_far, await shuffle.labels_to_coordinator(
            substream, public, order, label="labels", told=told
        )

    async def deliver_best(substream: Session) -> tuple[ArithmeticShare | None, Array | None]:
        return await disclose_best(
            substream, values, ranking, best=best, best_so_far=best_so_far, label="best", told=told
        )

    # Labels and best go side by side, in the rounds of the longer.
    substreams = [deliver] if best == "nothing" else [deliver, deliver_best]
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
        total = total.then(cost_of_all_pairs(nodes, n, kept, bits=bits))
    else:
        assumed = [round(n ** (4 / 3))] * 3 if batches is None else batches
        total = total.then(cost_of_pivots(nodes, assumed, kept, bits=bits))
    label = np.dtype(np.uint32)
    last = (
        cost_of_thresholds(nodes, n, spec=spec, bound=bound, told=told)
        if spec.has_thresholds
        else shuffle.cost_to_coordinator(nodes, (n,), label, public=True, told=told)
    )
    return total.then(last.beside(cost_of_best(nodes, best, has_best=has_best, told=told)))
