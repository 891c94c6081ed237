""""""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import AbortError
from tacit.mpc.local import deal_integers, run_parties
from tacit.mpc.protocols import ranking
from tacit.mpc.protocols.ranking import (
    pair_count,
    rank_all_pairs,
    rank_by_pivots,
    ranks_of,
)
from tacit.mpc.shares import reconstruct
from tests.mpc.both import check_cost, three_and_four

RNG = np.random.default_rng(11)


@three_and_four
@pytest.mark.parametrize("many", [False, True])
@settings(max_examples=12, deadline=None)
@given(values=st.lists(st.integers(-500, 500), min_size=1, max_size=40, unique=True))
def test_both_ways_rank_alike(values: list[int], many: bool, nodes: int) -> None:
    keys = deal_integers(values, nodes=nodes)
    rank = rank_by_pivots if many else rank_all_pairs
    run = run_parties(lambda s: rank(s, keys[s.me], keys[s.me], bits=11, label="r"), nodes=nodes)
    expected = np.argsort(np.argsort(-np.array(values)))
    for found in run.results:
        assert (found.ranks == expected).all()
        assert found.position(0) == int(np.argmax(values))
    signs = reconstruct([found.kept for found in run.results])
    assert signs.tolist() == [int(v < 0) for v in values]
    check_cost(
        run,
        ranking.cost_of_pivots(nodes, run.results[0].batches, len(values), bits=11)
        if many
        else ranking.cost_of_all_pairs(nodes, len(values), len(values), bits=11),
    )


@pytest.mark.parametrize("n", [1, 2, 50, 1000, 2500])
def test_pivots_take_three_batches(n: int) -> None:
    values = RNG.permutation(n)
    keys = deal_integers(values)
    run = run_parties(lambda s: rank_by_pivots(s, keys[s.me], keys[s.me][:0], bits=14, label="r"))
    assert (run.results[0].ranks == n - 1 - values).all()
    assert len(run.results[0].batches) == ranking.STAGES
    assert sum(run.results[0].batches) <= max(pair_count(n), 8 * n ** (4 / 3))


@pytest.mark.parametrize("n", range(3, 9))
def test_a_cycle_is_no_order(n: int) -> None:
    for _ in range(20):
        values = RNG.permutation(n)
        i, d = (row.ravel() for row in np.meshgrid(np.arange(n), np.arange(1, n // 2 + 1)))
        less = (values[i] < values[(i + d) % n]).astype(np.uint8)[: pair_count(n)]
        order = ranks_of(less, n)
        assert (order == n - 1 - values).all()
        # Turning the comparison of best and worst makes a cycle of any three or more.
        best, worst = int(np.argmax(values)), int(np.argmin(values))
        pair = {(best, worst), (worst, best)}
        where = [e for e in range(len(less)) if (i[e], (i[e] + d[e]) % n) in pair]
        less[where] ^= 1
        with pytest.raises(AbortError, match="no order"):
            ranks_of(less, n)


def test_pivots_notice_contradictions() -> None:
    # Values that differ by more than the bits allow compare cyclically.
    values = RNG.permutation(60) * 40
    keys = deal_integers(values)
    with pytest.raises(AbortError, match="no order"):
        run_parties(lambda s: rank_by_pivots(s, keys[s.me], keys[s.me][:0], bits=10, label="r"))


def test_a_key_between_two_pivots_is_below_the_better_one() -> None:
    segment = ranking._RankSegment(0, np.arange(3))
    ranks = np.full(3, -1)
    # Key 0 is below key 1; key 2 is below both, between them, or above both.
    for answers, place in (([1, 1], 2), ([0, 1], 1), ([0, 0], 0)):
        (left,) = ranking._split(segment, np.array([1, *answers], np.uint8), 2, ranks)
        assert (left.start, left.members.tolist()) == (place, [2])
    with pytest.raises(AbortError, match="no order"):
        ranking._split(segment, np.array([1, 1, 0], np.uint8), 2, ranks)
