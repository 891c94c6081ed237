"""The Pareto score of candidates: fewer dominators first, then more room among neighbours.

::

    one secret order per objective, all in one shuffle                   2 rounds (four nodes: 3)
    rank each objective in its own order; beside it, who is smaller      1 + log2 bits
      in the others of whom, in the first order, as shares
    dominators counted, gaps times spans                                 2
    back to the original positions                                       2 (3)
    score = (n - 1 - dominators) 2^B + crowding

The score is then disclosed as a fitness would be (`evaluation`), in a fresh secret order: labels of
an order, and never a value, since gaps between scores have no meaning.

*Crowding.* In the secret order of an objective the ranks are public, so the gap between a
candidate's neighbours and the span S of the whole set are differences of shares. First and last
count m times the whole span. Exact, for two objectives: each gap times the other span, so that
both count the same without a division. In steps, otherwise: each gap times R = 2^(b + 4) // S, with
S rounded up to 4 significant bits. That is a step function of S with public steps, so one batch of
comparisons, whose bits become numbers, and a weight is off by at most an eighth.

Learns   the nodes the ranks of shuffled positions, once per objective: uniformly random
         permutations that are independent of each other and of the fitness. With one order for
         all objectives they would see how these go together. Nobody learns anything else
Rounds   as above; crowding 1 where exact, in steps a comparison and 3
Bytes    see docs/protocols/pareto.md
Paper    dominators as in NSGA-II [deb2002], counted instead of peeled; ranking after [hamada2012]
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise as pairwise_of

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DisclosureError
from tacit.mpc.cost import Cost
from tacit.mpc.disclose import dominance, evaluation
from tacit.mpc.disclose.dominance import SIGNIFICANT, ParetoWidths
from tacit.mpc.disclose.evaluation import DisclosedValues, Evaluated
from tacit.mpc.disclose.spec import Spec, index_bits, key_bits
from tacit.mpc.protocols import halves, less_than, pairwise, shuffle
from tacit.mpc.protocols.ranking import cost_of_all_pairs
from tacit.mpc.protocols.shuffle import draw_block_order
from tacit.mpc.ring import Words, public_word, to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, as_columns, concatenate, scale

Ranks = Sequence[NDArray[np.intp]]


def _gaps(values: ArithmeticShare, ranks: NDArray[np.intp]) -> ArithmeticShare:
    """The difference of both neighbours in the order; 0 for first and last."""
    at = np.argsort(ranks)

    def gaps(part: Array) -> Array:
        made = np.zeros_like(part)
        # The order is public, so neighbours are a public choice and the gap is linear.
        made[at[1:-1]] = part[at[:-2]] - part[at[2:]]
        return made

    return values.map(gaps)


def _span(values: ArithmeticShare, ranks: NDArray[np.intp]) -> ArithmeticShare:
    """The largest value minus the smallest, plus 1."""
    at = np.argsort(ranks)
    best, worst = values[at[:1]], values[at[-1:]]
    return (best - worst).add_public(to_ring([1]))


def _stacked(shares: Sequence[ArithmeticShare]) -> ArithmeticShare:
    return concatenate([share.map(lambda part: part[None, :]) for share in shares])


def _is_end(ranks: NDArray[np.intp]) -> NDArray[np.bool_]:
    return np.isin(ranks, (0, len(ranks) - 1))


def rounded_up(span: int) -> int:
    """A span to 4 significant bits, rounded up.

    >>> rounded_up(16), rounded_up(17), rounded_up(2**17 + 1) == 9 * 2**14
    (16, 18, True)
    """
    shift = max(0, span.bit_length() - SIGNIFICANT)
    return -(-span >> shift) << shift


@cache
def steps(largest: int) -> tuple[int, ...]:
    """All values of `rounded_up` for spans 1..largest; the last one reaches the largest.

    >>> steps(20)
    (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20)
    """
    made = [1]
    while made[-1] < largest:
        made.append(rounded_up(made[-1] + 1))
    return tuple(made)


async def crowd(
    session: Session,
    values: Sequence[ArithmeticShare],
    ranks: Ranks,
    widths: ParetoWidths,
    *,
    label: str,
) -> ArithmeticShare:
    """What each objective adds to crowding, a line for each in the objective's own order.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> f, g = deal_integers([9, 4, 0]), deal_integers([1, 2, 5])
    >>> orders = np.array([0, 1, 2]), np.array([2, 1, 0])
    >>> widths = ParetoWidths([FitnessBound(0, 9)] * 2, 3)
    >>> reveal(run_parties(
    ...     lambda s: crowd(s, [f[s.me], g[s.me]], orders, widths, label="c")
    ... ).results)
    array([[100,  45, 100],
           [100,  40, 100]])
    """
    m = widths.objectives
    both = list(zip(values, ranks, strict=True))
    gaps = _stacked([_gaps(f, order) for f, order in both])
    spans = [_span(f, order) for f, order in both]
    ends = np.array([_is_end(order) for order in ranks])
    if widths.exact:
        whole = _stacked(spans)
        # First and last get the largest crowding that there is: they are always wanted.
        gaps = gaps + whole.map(lambda part: np.where(ends, public_word(m) * part, 0))
        return await pairwise.multiply(session, gaps, whole[::-1], label=f"{label}.product")
    weights = await _weights(session, spans, widths, label=label)
    product = await pairwise.multiply(session, gaps, weights, label=f"{label}.product")
    return product.add_public(np.where(ends, public_word(m * widths.scale), 0))


def _steps_of(widths: ParetoWidths) -> list[tuple[int, ...]]:
    """For each objective, the values at which its weight changes, and the last."""
    return [steps(bound.span + 1) for bound in widths.bounds]


def _falls(of: tuple[int, ...], whole: int) -> Words:
    """By how much the weight falls after each step."""
    weights = [whole // step for step in of]
    return to_ring([after - before for before, after in pairwise_of(weights)])


async def _weights(
    session: Session, spans: Sequence[ArithmeticShare], widths: ParetoWidths, *, label: str
) -> ArithmeticShare:
    """Shares of each objective's weight, shape (m, 1)."""
    tables = _steps_of(widths)
    beyond = concatenate(
        [
            span[np.zeros(len(of) - 1, dtype=np.intp)].map(np.negative).add_public(to_ring(of[:-1]))
            for span, of in zip(spans, tables, strict=True)
        ]
    )
    signs = await less_than.compare_batch(
        session, beyond[:0], beyond, bits=widths.span_bits, label=f"{label}.steps"
    )
    passed = await halves.bits_to_arithmetic(session, signs.kept, label=f"{label}.b2a")
    made, start = [], 0
    for of in tables:
        stop = start + len(of) - 1
        fallen = scale(passed[start:stop], _falls(of, widths.scale))
        made.append(fallen.map(lambda part: part.sum(keepdims=True, dtype=np.uint64)))
        start = stop
    first = np.full((len(made), 1), public_word(widths.scale), dtype=np.uint64)
    return _stacked(made).add_public(first)


def cost_of_crowding(nodes: int, widths: ParetoWidths) -> Cost:
    product = pairwise.cost(nodes, widths.objectives * widths.candidates)
    if widths.exact:
        return product
    tests = sum(len(of) - 1 for of in _steps_of(widths))
    signs = less_than.cost(nodes, 0, tests, bits=widths.span_bits)
    return signs.then(halves.cost_of_conversion(nodes, tests)).then(product)


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
    return concatenate([as_columns([key, *fitness]) for key in keys])


def _rank_bits(widths: ParetoWidths) -> list[int]:
    others = [key_bits(bound, widths.candidates) for bound in widths.bounds[1:]]
    return [widths.first_bits, *others]


async def pareto_score(
    session: Session, fitness: Sequence[ArithmeticShare], widths: ParetoWidths
) -> ArithmeticShare:
    """Shares of the score, which are right modulo as many bits as a comparison of them looks at.

    The fitness is one share per objective, each of all candidates. See `widths.score_bound`.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> from tacit.mpc.local import deal_integers, reveal, run_parties
    >>> f, g = deal_integers([9, 4, 0, 3]), deal_integers([1, 2, 5, 2])
    >>> widths = ParetoWidths([FitnessBound(0, 9)] * 2, 4)
    >>> run = run_parties(lambda s: pareto_score(s, [f[s.me], g[s.me]], widths))
    >>> score = reveal(run.results) % (4 << widths.crowding_bits)
    >>> 3 - (score >> widths.crowding_bits), score % (1 << widths.crowding_bits)
    (array([0, 0, 0, 1]), array([200,  60, 200,  30]))
    """
    m, n = widths.objectives, widths.candidates
    # An order for each objective: with one for all, the opened ranks would tell how the objectives
    # go together. One joint shuffle takes the rounds of one.
    order = draw_block_order(session, m, n, label="pareto.order")
    rows = _columns(fitness, _keys(fitness, widths))
    mixed = await shuffle.shuffle(session, rows, order, label="pareto.shuffle")
    blocks = [mixed[k * n : (k + 1) * n] for k in range(m)]
    lines = session.substreams(substreams_of(m))
    # The others are compared in the first objective's order: it says who is ahead of whom.
    ranks, smaller = await dominance.rank_and_compare(
        session,
        [(block[:, 0], bits) for block, bits in zip(blocks, _rank_bits(widths), strict=True)],
        [blocks[0][:, 1 + k] for k in range(1, m)],
        bits=widths.dominance_bits,
        label="pareto",
        substreams=lines,
    )

    async def dominators(substream: Session) -> ArithmeticShare:
        return await dominance.count_dominators(
            substream, smaller, ranks[0], label="pareto.dominators"
        )

    async def crowding(substream: Session) -> ArithmeticShare:
        values = [blocks[k][:, 1 + k] for k in range(m)]
        return await crowd(substream, values, ranks, widths, label="pareto.crowding")

    dominated, crowded = await session.in_parallel(dominators, crowding, substreams=lines[:2])
    # Dominators are known modulo 2^16 only. They are the score's highest bits, so what is wrong
    # above them is cut off with all that lies above a comparison's bits.
    at_top = dominated.map(lambda part: part.astype(np.uint64) << np.uint64(widths.crowding_bits))
    parts = concatenate([crowded[0] - at_top, crowded[1:].map(np.ravel)])
    back = await shuffle.unshuffle(session, parts, order, label="pareto.back")
    total = back.map(lambda part: part.reshape(m, n).sum(axis=0, dtype=np.uint64))
    return total.add_public(to_ring([(n - 1) << widths.crowding_bits]))


def cost_of_score(nodes: int, widths: ParetoWidths) -> Cost:
    """The cost of the score; disclosing it comes on top."""
    m, n = widths.objectives, widths.candidates
    compared = dominance.cost_of_signs(nodes, n, m, bits=widths.dominance_bits)
    for bits in _rank_bits(widths):
        compared = compared.beside(cost_of_all_pairs(nodes, n, 0, bits=bits))
    counted = dominance.cost_of_counting(nodes, n, m).beside(cost_of_crowding(nodes, widths))
    total = shuffle.cost(nodes, (m * n, 1 + m)).then(compared).then(counted)
    return total.then(shuffle.cost_back(nodes, (m * n,)))


def check_spec(spec: Spec) -> None:
    """Refuse what an order alone does not give.

    >>> check_spec(Spec.parse("buckets:5"))
    Traceback (most recent call last):
    tacit.errors.DisclosureError: buckets:5 depends on values, and a Pareto score has only an \
order; use order, quantiles:k or top:k
    """
    if spec.kind == "none" or spec.has_thresholds:
        raise DisclosureError(
            f"{spec} depends on values, and a Pareto score has only an order; use order, "
            "quantiles:k or top:k"
        )


async def evaluate_pareto(
    session: Session,
    fitness: Sequence[ArithmeticShare],
    *,
    spec: Spec,
    widths: ParetoWidths,
    told: bool = False,
) -> Evaluated:
    """A node's side of one evaluation in several objectives; the coordinator runs `collect_pareto`.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> f, g = deal_integers([9, 4, 0, 3]), deal_integers([1, 2, 5, 2])
    >>> ask = {"spec": Spec.parse("order"), "widths": ParetoWidths([FitnessBound(0, 9)] * 2, 4)}
    >>> run_parties(
    ...     lambda s: evaluate_pareto(s, [f[s.me], g[s.me]], **ask),
    ...     lambda s: collect_pareto(s, **ask),
    ... ).coordinator.labels
    array([0, 2, 1, 3])
    """
    check_spec(spec)
    made = await pareto_score(session, fitness, widths)
    return await evaluation.evaluate(
        session, made, spec=spec, bound=widths.score_bound, best="nothing", told=told
    )


async def collect_pareto(session: Session, *, spec: Spec, widths: ParetoWidths) -> DisclosedValues:
    """The coordinator's side; see `evaluate_pareto` for an example."""
    check_spec(spec)
    session.substreams(substreams_of(widths.objectives))  # the nodes' own, before the answer
    return await evaluation.collect(
        session, widths.candidates, spec=spec, bound=widths.score_bound, best="nothing"
    )


def cost(nodes: int, *, spec: Spec, widths: ParetoWidths, told: bool = False) -> Cost:
    """The cost of an evaluation, the delivery to the coordinator included.

    >>> from tacit.mpc.disclose.spec import FitnessBound
    >>> widths = ParetoWidths([FitnessBound(-100000, 0)] * 2, 300)
    >>> [cost(nodes, spec=Spec.parse("quantiles:20"), widths=widths).rounds for nodes in (3, 4)]
    [23, 28]
    """
    last = evaluation.cost(
        nodes,
        widths.candidates,
        spec=spec,
        bound=widths.score_bound,
        best="nothing",
        told=told,
    )
    return cost_of_score(nodes, widths).then(last)
