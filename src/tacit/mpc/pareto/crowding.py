"""Crowding: how far the neighbours of each candidate are apart, over all objectives, as shares.

In the secret order of an objective the ranks are public, so the gap between a candidate's
neighbours and the span S of the whole set are differences of shares. First and last count m times
the whole span.

*Exact*, two objectives: each gap times the other span, so that both count the same without a
division. 1 round.

*In steps*, otherwise: each gap times R = 2^(b + 4) // S, with S rounded up to 4 significant bits.
That is a step function of S with public steps, so one batch of comparisons, whose bits become
numbers. The rounds of a comparison and 3 more. A weight is off by at most an eighth.

Nobody learns anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import pairwise as pairwise_of

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.linear import scale
from tacit.mpc.pareto.widths import SIGNIFICANT, ParetoWidths
from tacit.mpc.protocols import b2a, less_than, pairwise
from tacit.mpc.ring import Words, public_word, to_ring
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, concatenate

Ranks = Sequence[NDArray[np.intp]]


def _gaps(values: ArithmeticShare, ranks: NDArray[np.intp]) -> ArithmeticShare:
    """The difference of both neighbours in the order; 0 for first and last."""
    at = np.argsort(ranks)

    def gaps(part: Array) -> Array:
        made = np.zeros_like(part)
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

    >>> from tacit.mpc.bound import FitnessBound
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
    passed = await b2a.bits_to_arithmetic(session, signs.kept, label=f"{label}.b2a")
    made, start = [], 0
    for of in tables:
        stop = start + len(of) - 1
        fallen = scale(passed[start:stop], _falls(of, widths.scale))
        made.append(fallen.map(lambda part: part.sum(keepdims=True, dtype=np.uint64)))
        start = stop
    first = np.full((len(made), 1), public_word(widths.scale), dtype=np.uint64)
    return _stacked(made).add_public(first)


def cost(nodes: int, widths: ParetoWidths) -> Cost:
    """The cost of crowding."""
    product = pairwise.cost(nodes, widths.objectives * widths.candidates)
    if widths.exact:
        return product
    tests = sum(len(of) - 1 for of in _steps_of(widths))
    signs = less_than.cost(nodes, 0, tests, bits=widths.span_bits)
    return signs.then(b2a.cost(nodes, tests)).then(product)
