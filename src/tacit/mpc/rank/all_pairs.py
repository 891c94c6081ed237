"""Ranking by comparing all pairs in one batch: n(n-1)/2 comparisons, in the rounds of one.

The keys are distinct and in an order that nobody knows, so the opened comparisons are those of a
uniformly random permutation: they tell the nodes nothing. After the sort of [hamada2012], with a
single batch in place of quicksort's levels.

Pairs are laid out by their circular distance: row d - 1 compares position i with i + d modulo n.
With n even, the last row holds each pair twice and only its first half counts. So differences and
counts are sliding windows, and no index lists are needed.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from numpy.typing import NDArray

from tacit.mpc.cost import Cost
from tacit.mpc.planes import Unsigned, cut
from tacit.mpc.protocols import less_than
from tacit.mpc.protocols.halves import known_part
from tacit.mpc.rank.result import Ranking, check_total_order
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare


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


def cost(nodes: int, n: int, kept: int, *, bits: int) -> Cost:
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
