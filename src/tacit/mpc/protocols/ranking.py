"""Ranking of shuffled keys by opened comparisons: all pairs at once, or many pivots.

*All pairs*: n(n-1)/2 comparisons in one batch. Pairs are laid out by their circular distance: row
d - 1 compares position i with i + d modulo n. With n even, the last row holds each pair twice and
only its first half counts. So differences and counts are sliding windows without index lists.

*Pivots*, for populations too large for that, in three batches. In the first, all keys are compared
with a few pivots, in the second again inside each resulting segment, and in the third all pairs
that are still in one segment. With about n^(1/3) pivots each time the batches are of about equal
size, n^(4/3) comparisons each. The positions are shuffled, so the first ones of a segment are as
good a choice of pivots as any.

Learns   the nodes the ranks of shuffled positions. The keys are distinct and in an order that
         nobody knows, so these are a uniformly random permutation, whatever the keys are; the
         number of comparisons depends on that permutation alone
Rounds   those of one comparison (`less_than`), with pivots of three
Bytes    those of the comparisons
Paper    [hamada2012], with one batch in place of quicksort's levels, or many pivots and a last
         batch of all pairs, to have few rounds
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

from tacit.errors import AbortError
from tacit.mpc.cost import Cost
from tacit.mpc.planes import Unsigned, cut
from tacit.mpc.protocols import less_than
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, BitShare


@dataclass(frozen=True, slots=True)
class Ranking:
    """Public ranks of shuffled positions (0 is best), and the signs that were kept secret."""

    ranks: NDArray[np.intp]
    kept: BitShare
    batches: tuple[int, ...]
    """How many comparisons each batch opened; the cost follows from them."""

    def position(self, rank: int) -> int:
        """The shuffled position that has this rank."""
        return int(np.flatnonzero(self.ranks == rank)[0])


def check_total_order(ranks: NDArray[np.intp]) -> None:
    """Abort unless each rank occurs once, which holds for a transitive tournament only.

    Weights out of range make comparisons cyclic, and the shape of a cycle depends on the data.

    >>> check_total_order(np.array([1, 1, 1]))
    Traceback (most recent call last):
    tacit.errors.AbortError: the nodes: the opened comparisons form no order; an input is out of \
range
    """
    # A cycle comes from equal keys or keys out of range, and its shape depends on the data: so the
    # error says nothing of where it was.
    if not np.array_equal(np.bincount(ranks, minlength=len(ranks)), np.ones(len(ranks))):
        raise no_order()


def no_order() -> AbortError:
    """The error for comparisons that contradict each other."""
    what = "the opened comparisons form no order; an input is out of range"
    return AbortError("the nodes", what)


def pair_count(n: int) -> int:
    """How many pairs n positions have.

    >>> pair_count(300)
    44850
    """
    return n * (n - 1) // 2


def pair_differences(keys: Unsigned) -> Unsigned:
    """key_i - key_(i+d) for all pairs, row by row.

    >>> pair_differences(np.array([20, 3, 1], dtype=np.uint8))
    array([ 17,   2, 237], dtype=uint8)
    """
    n = len(keys)
    twice = np.concatenate([keys, keys])
    others = sliding_window_view(twice, n)[1 : n // 2 + 1]
    flat: Unsigned = (keys[None, :] - others).reshape(-1)[: pair_count(n)]
    return flat


def ranks_of(less: NDArray[np.uint8], n: int) -> NDArray[np.intp]:
    """Ranks (0 for the largest key) from the signs of all pairs, if they form an order.

    >>> ranks_of(np.array([1, 1, 0], dtype=np.uint8), 3)
    array([2, 1, 0])
    """
    half = n // 2
    rows = np.zeros(half * n, dtype=np.uint8)
    rows[: len(less)] = less
    # The pairs that count: all, but of an even n's last row only the first half.
    counted = np.zeros(half * n, dtype=np.uint8)
    counted[: len(less)] = 1
    smaller = rows.reshape(half, n)
    larger = (counted - rows).reshape(half, n)
    # Entry (d, i - d) is about i as the second of its pair: in the doubled rows, a slanted view.
    twice = np.concatenate([larger, larger], axis=1).reshape(-1)
    slanted = as_strided(twice[n - 1 :], (half, n), (2 * n - 1, 1), writeable=False)
    counts = smaller.sum(axis=0, dtype=np.uint16) + slanted.sum(axis=0, dtype=np.uint16)
    ranks: NDArray[np.intp] = counts.astype(np.intp)
    check_total_order(ranks)
    return ranks


def cost_of_all_pairs(nodes: int, n: int, kept: int, *, bits: int) -> Cost:
    """The cost of ranking n keys, with this many kept signs in the same batch."""
    return less_than.cost(nodes, pair_count(n), kept, bits=bits)


async def rank_all_pairs(
    session: Session, keys: ArithmeticShare, kept: ArithmeticShare, *, bits: int, label: str
) -> Ranking:
    """Public ranks of distinct shuffled keys; signs of the differences `kept` stay shares.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> keys = deal_integers([10, 30, 20])
    >>> run = run_parties(
    ...     lambda s: rank_all_pairs(s, keys[s.me], keys[s.me][:0], bits=6, label="r")
    ... )
    >>> run.results[0].ranks
    array([2, 0, 1])
    """
    n = len(keys)
    # The known part is linear, so it is taken and cut before the many differences are formed.
    known = cut(known_part(session, keys), bits=bits)
    batch = await less_than.compare_known(
        session, pair_differences(known), known_part(session, kept), bits=bits, label=label
    )
    return Ranking(ranks_of(batch.opened, n), batch.kept, (pair_count(n),))


STAGES = 3
Positions = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _RankSegment:
    """Positions whose ranks are start, start + 1, ... in an order not known yet."""

    start: int
    members: Positions


def pivots_per_segment(n: int) -> int:
    """How many pivots split a segment.

    >>> pivots_per_segment(5000)
    17
    """
    return max(1, round(math.pow(n, 1 / STAGES)))


def _split_pairs(segment: _RankSegment, pivots: int) -> tuple[Positions, Positions]:
    """All pairs of pivots, then every other key with each pivot."""
    members = segment.members
    # Positions are shuffled: the first ones are a random choice, and a public one.
    chosen, others = members[:pivots], members[pivots:]
    i, j = np.triu_indices(len(chosen), 1)
    left = np.concatenate([chosen[i], np.repeat(others, len(chosen))])
    right = np.concatenate([chosen[j], np.tile(chosen, len(others))])
    return left, right


def _order_of_pairs(less: NDArray[np.uint8], n: int) -> Positions:
    """Ranks inside a group of n from the signs of its pairs in `triu_indices` order."""
    i, j = np.triu_indices(n, 1)
    ranks = np.bincount(i, weights=less, minlength=n) + np.bincount(j, 1 - less, minlength=n)
    result = ranks.astype(np.intp)
    check_total_order(result)
    return result


def _split(
    segment: _RankSegment, less: NDArray[np.uint8], pivots: int, ranks: Positions
) -> list[_RankSegment]:
    """Write the pivots' ranks and return the segments between them."""
    chosen, others = segment.members[:pivots], segment.members[pivots:]
    pairs = len(chosen) * (len(chosen) - 1) // 2
    order = _order_of_pairs(less[:pairs], len(chosen))
    best_first = np.argsort(order)
    below = less[pairs:].reshape(len(others), len(chosen))[:, best_first].astype(np.int8)
    # A key below one pivot is below all better ones too: ones first, then zeros.
    if (np.diff(below, axis=1) > 0).any():
        raise no_order()
    place = below.sum(axis=1, dtype=np.intp)
    sizes = np.bincount(place, minlength=len(chosen) + 1)
    starts = segment.start + np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
    ranks[chosen[best_first]] = starts[1:] - 1
    by_place = others[np.argsort(place, kind="stable")]
    parts = np.split(by_place, np.cumsum(sizes)[:-1])
    return [_RankSegment(int(s), part) for s, part in zip(starts, parts, strict=True) if len(part)]


def cost_of_pivots(nodes: int, batches: Sequence[int], kept: int, *, bits: int) -> Cost:
    """The cost of ranking when the batches opened this many comparisons; the first keeps signs."""
    total = Cost.free(nodes)
    for number, opened in enumerate(batches):
        total = total.then(less_than.cost(nodes, opened, 0 if number else kept, bits=bits))
    return total


async def rank_by_pivots(
    session: Session, keys: ArithmeticShare, kept: ArithmeticShare, *, bits: int, label: str
) -> Ranking:
    """Public ranks of distinct shuffled keys; signs of the differences `kept` stay shares.

    >>> from tacit.mpc.local import deal_integers, run_parties
    >>> keys = deal_integers([10, 30, 20, 50, 40])
    >>> run = run_parties(
    ...     lambda s: rank_by_pivots(s, keys[s.me], keys[s.me][:0], bits=7, label="r")
    ... )
    >>> run.results[1].ranks
    array([4, 2, 3, 0, 1])
    """
    n = len(keys)
    known = cut(known_part(session, keys), bits=bits)
    ways = pivots_per_segment(n)
    ranks = np.full(n, -1, dtype=np.intp)
    segments = [_RankSegment(0, np.arange(n))]
    batches: list[int] = []
    secret = None
    for stage in range(STAGES):
        # In the last stage every key is a pivot, and so is every key of a small segment.
        counts = [
            len(s.members) if stage == STAGES - 1 or len(s.members) <= 2 * ways else ways
            for s in segments
        ]
        pairs = [_split_pairs(s, count) for s, count in zip(segments, counts, strict=True)]
        left = np.concatenate([p[0] for p in pairs]) if pairs else np.zeros(0, dtype=np.intp)
        right = np.concatenate([p[1] for p in pairs]) if pairs else np.zeros(0, dtype=np.intp)
        # Kept signs go with the first batch, which saves the rounds of one of their own.
        beside = known_part(session, kept if stage == 0 else kept[:0])
        batch = await less_than.compare_known(
            session, known[left] - known[right], beside, bits=bits, label=f"{label}.{stage}"
        )
        secret = batch.kept if secret is None else secret
        batches.append(len(left))
        ends = np.cumsum([len(p[0]) for p in pairs])[:-1]
        signs = np.split(batch.opened, ends) if pairs else []
        segments = [
            part
            for s, less, count in zip(segments, signs, counts, strict=True)
            for part in _split(s, less, count, ranks)
        ]
    check_total_order(ranks)
    if secret is None:
        raise no_order()
    return Ranking(ranks, secret, tuple(batches))
