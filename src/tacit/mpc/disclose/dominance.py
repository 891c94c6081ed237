"""Pareto dominance on shares: how wide numbers get, and how many candidates dominate each one.

In the first secret order the nodes know who is ahead in (F_1, sum of the others, lower index).
Whoever is ahead dominates whoever is behind unless it is smaller in one of the other objectives;
nobody dominates somebody ahead. So of each pair both comparisons in the other objectives are kept
as shares, in the same rounds in which the first order is found, and the public order then says
which of the two counts. With more than two objectives a tree of ANDs joins them. The bits become
numbers modulo 2^16, which the nodes add up by themselves.

With S the largest possible span of an objective plus 1, m objectives and n candidates, widths are

::

    first order   F_1, sum of the others, index          opened comparisons
    dominance     F_k                                     kept comparisons
    crowding      m^2 S_1 S_2, two objectives             exact
                  m^2 2^(b + 4), b the bits of the widest span      in steps of the spans
    score         dominators, crowding                    the index is appended as to any fitness

Two objectives whose exact score does not fit the ring get the score in steps.

Learns   nobody anything
Rounds   signs: a comparison; counting: 2, and ceil(log2(m - 1)) for the ANDs
Bytes    those of `less_than`, and 2 per pair to count (four nodes: 3)
Paper    [deb2002, Section III] for dominance
"""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.mpc.cost import Cost
from tacit.mpc.disclose.spec import (
    FitnessBound,
    index_bits,
    key_bits,
)
from tacit.mpc.planes import cut, plane_words
from tacit.mpc.protocols import halves, less_than, pairwise
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.protocols.ranking import Ranking, pair_count, pair_differences, rank_all_pairs
from tacit.mpc.ring import RING_BITS
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, Array, BitShare

MOST_CANDIDATES = 1000
"""All pairs are compared at once, and a candidate's dominators are counted in 16 bits."""
SIGNIFICANT = 4
"""Bits to which a span is rounded up where crowding is in steps."""


@dataclass(frozen=True)
class ParetoWidths:
    """The public numbers that a Pareto score of n candidates follows from.

    >>> two = ParetoWidths([FitnessBound(-100000, 0)] * 2, 300)
    >>> two.first_bits, two.exact, key_bits(two.score_bound, 300)
    (44, True, 55)
    >>> four = ParetoWidths([FitnessBound(0, 2**18 - 1)] * 4, 300)
    >>> four.exact, key_bits(four.score_bound, 300)
    (False, 46)
    """

    bounds: Sequence[FitnessBound]
    candidates: int

    def __post_init__(self) -> None:
        m, n = len(self.bounds), self.candidates
        if m < 2:
            raise ParameterError(f"a Pareto score needs two objectives or more; got {m}")
        if not 1 <= n <= MOST_CANDIDATES:
            raise ParameterError(
                f"a Pareto score is found for 1..{MOST_CANDIDATES} candidates at once; got {n}"
            )
        # Keys that wrap would make the opened comparisons cyclic, and a cycle tells of the data.
        needed = max(self.first_bits, key_bits(self.score_bound, n))
        if needed > RING_BITS:
            raise ParameterError(
                f"a Pareto score of {m} objectives and {n} candidates needs {needed} bits, the "
                f"ring has {RING_BITS}; scale the weights down"
            )

    @property
    def objectives(self) -> int:
        return len(self.bounds)

    @property
    def others_bits(self) -> int:
        """The bits of the sum of all objectives but the first."""
        return sum(bound.span for bound in self.bounds[1:]).bit_length()

    @property
    def first_bits(self) -> int:
        """The bits of a signed difference of two keys of the first order."""
        return self.bounds[0].bits + self.others_bits + index_bits(self.candidates) + 1

    @property
    def dominance_bits(self) -> int:
        """The bits of a signed difference in any objective but the first."""
        return max(bound.bits for bound in self.bounds[1:]) + 1

    @property
    def span_bits(self) -> int:
        """The bits of a signed difference between a span and a step."""
        return (max(bound.span for bound in self.bounds) + 1).bit_length() + 1

    @property
    def scale(self) -> int:
        """What a whole span counts where crowding is in steps."""
        return 1 << (max(bound.bits for bound in self.bounds) + SIGNIFICANT)

    def _crowding_bits(self, *, exact: bool) -> int:
        of_spans = math.prod(b.span + 1 for b in self.bounds) if exact else self.scale
        return (self.objectives**2 * of_spans).bit_length()

    @cached_property
    def exact(self) -> bool:
        """Whether crowding is exact; otherwise it is in steps of the spans."""
        if self.objectives != 2:
            return False
        bits = self._crowding_bits(exact=True) + 2 * index_bits(self.candidates) + 1
        return bits <= RING_BITS

    @cached_property
    def crowding_bits(self) -> int:
        """The bits of a candidate's crowding."""
        return self._crowding_bits(exact=self.exact)

    @property
    def score_bound(self) -> FitnessBound:
        """The range of the score, which is disclosed as a fitness would be."""
        return FitnessBound(0, (self.candidates << self.crowding_bits) - 1)


COUNT = np.dtype(np.uint16)
"""What dominators are counted in."""


@cache
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Both positions of all pairs, in the order of `pair_differences`."""
    count = pair_count(n)
    first = np.tile(np.arange(n), n // 2)[:count]
    distance = np.repeat(np.arange(1, n // 2 + 1), n)[:count]
    return first, (first + distance) % n


async def smaller_in_others(
    session: Session, others: Sequence[ArithmeticShare], *, bits: int, label: str
) -> BitShare:
    """For each objective, of all pairs: whether the first is smaller, and whether the second is.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> from tacit.mpc.shares import reconstruct
    >>> f = deal_integers([3, 5])
    >>> run = run_parties(lambda s: smaller_in_others(s, [f[s.me]], bits=4, label="d"))
    >>> reconstruct(run.results)
    array([[[1],
            [0]]], dtype=uint8)
    """
    n = len(others[0])
    forward = [pair_differences(cut(known_part(session, each), bits=bits)) for each in others]
    both = np.concatenate([part for each in forward for part in (each, np.negative(each))])
    signs = await less_than.compare_known(session, both[:0], both, bits=bits, label=label)
    return signs.kept.map(lambda part: part.reshape(len(others), 2, pair_count(n)))


async def rank_and_compare(
    session: Session,
    keys: Sequence[tuple[ArithmeticShare, int]],
    others: Sequence[ArithmeticShare],
    *,
    bits: int,
    label: str,
    substreams: Sequence[Session],
) -> tuple[list[NDArray[np.intp]], BitShare]:
    """Public ranks by each key of so many bits, and beside that `smaller_in_others`.

    See `pareto_score` and `front` for an example.
    """

    async def compare(substream: Session) -> BitShare:
        return await smaller_in_others(substream, others, bits=bits, label=f"{label}.smaller")

    def rank(number: int) -> Callable[[Session], Coroutine[Any, Any, Any]]:
        async def one(substream: Session) -> Ranking:
            key, width = keys[number]
            name = f"{label}.rank.{number}"
            return await rank_all_pairs(substream, key, key[:0], bits=width, label=name)

        return one

    smaller, *rankings = await session.in_parallel(
        compare, *map(rank, range(len(keys))), substreams=substreams
    )
    return [ranking.ranks for ranking in rankings], smaller


async def count_dominators(
    session: Session, smaller: BitShare, ranks: NDArray[np.intp], *, label: str
) -> ArithmeticShare:
    """Shares modulo 2^16 of how many dominate each, from the ranks in the first order.

    >>> from tacit.mpc.local import run_parties
    >>> from tacit.mpc.shares import deal_bits, reconstruct
    >>> smaller = deal_bits(np.array([[[1], [0]]], dtype=np.uint8))  # the first in objective 2
    >>> async def node(s, ranks):
    ...     return await count_dominators(s, smaller[s.me], np.array(ranks), label="d")
    >>> reconstruct(run_parties(lambda s: node(s, [0, 1])).results)  # but ahead in objective 1
    array([0, 0], dtype=uint16)
    >>> reconstruct(run_parties(lambda s: node(s, [1, 0])).results)
    array([1, 0], dtype=uint16)
    """
    n = len(ranks)
    first, second = _pairs(n)
    if not len(first):
        return ArithmeticShare(dict.fromkeys(session.held, np.zeros(n, dtype=COUNT)))
    # Ranks of the first order are public: they say who is ahead, and so which comparison counts.
    swapped = ranks[first] > ranks[second]
    # Is the one ahead smaller? If not, it is at least as good.
    counts = smaller.map(lambda part: np.where(swapped, part[:, 1], part[:, 0]))
    as_good = counts.add_public(np.ones(counts.shape, dtype=np.uint8))
    # Who dominates whom stays shares: the pattern of dominance would tell how objectives go
    # together.
    dominates = await _all_of(session, as_good, label=f"{label}.all")
    numbers = await halves.bits_to_arithmetic(session, dominates, label=f"{label}.b2a", dtype=COUNT)
    behind, ahead = np.where(swapped, first, second), np.where(swapped, second, first)

    def summed(part: Array) -> Array:
        table = np.zeros((n, n), dtype=COUNT)
        table[behind, ahead] = part
        made: Array = table.sum(axis=1, dtype=COUNT)
        return made

    return numbers.map(summed)


async def _all_of(session: Session, bits: BitShare, *, label: str) -> BitShare:
    """The AND of all lines, as bits."""
    count = bits.shape[1]
    if len(bits) == 1:
        return bits[0]

    def packed(part: Array) -> Array:
        padded = np.zeros((len(part), 64 * plane_words(count)), dtype=np.uint8)
        padded[:, :count] = part
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)

    joined = await pairwise.and_all(session, bits.map(packed), label=label)
    return joined.map(lambda part: np.unpackbits(part.view(np.uint8), bitorder="little")[:count])


def cost_of_signs(nodes: int, n: int, objectives: int, *, bits: int) -> Cost:
    return less_than.cost(nodes, 0, 2 * (objectives - 1) * pair_count(n), bits=bits)


def cost_of_counting(nodes: int, n: int, objectives: int) -> Cost:
    pairs = pair_count(n)
    if not pairs:
        return Cost.free(nodes)
    total = pairwise.cost_of_and_all(nodes, objectives - 1, plane_words(pairs))
    return total.then(halves.cost_of_conversion(nodes, pairs, COUNT))
