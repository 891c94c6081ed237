"""Beyond what can be enumerated: the opened order is uniform, and a range check shows one bit."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from tacit.mpc import FitnessBound, Session, Spec, check_ranges, evaluate
from tacit.mpc.disclose import node as node_module
from tacit.mpc.local import deal_integers, parties
from tacit.mpc.masks import KeyedMasks, MaskSource
from tacit.mpc.rank.all_pairs import rank_all_pairs
from tacit.mpc.rank.result import Ranking
from tacit.mpc.ring import to_ring
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.secrecy.weakened import SURE, Unshuffled, fixed_for, least_p

pytestmark = pytest.mark.slow


async def opened_order(
    f: Sequence[int], masks: Callable[[int], MaskSource], monkeypatch: pytest.MonkeyPatch
) -> tuple[int, ...]:
    """The ranks of the shuffled positions, which all nodes see."""
    seen: list[tuple[int, ...]] = []
    shares = deal_integers(list(f))

    async def noted(
        session: Session, keys: ArithmeticShare, kept: ArithmeticShare, **options: Any
    ) -> Ranking:
        ranking = await rank_all_pairs(session, keys, kept, **options)
        seen.append(tuple(ranking.ranks.tolist()))
        return ranking

    with monkeypatch.context() as patch:
        patch.setattr(node_module, "rank_all_pairs", noted)
        spec, bound = Spec.parse("order"), FitnessBound(0, 7)
        await parties(
            lambda s: evaluate(s, shares[s.me], spec=spec, bound=bound, best="nothing"),
            masks=masks,
        )
    assert seen[0] == seen[1] == seen[2]
    return seen[0]


def p_of_uniform(
    f: Sequence[int],
    observer: int,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[KeyedMasks] = KeyedMasks,
    runs: int = 240,
) -> float:
    async def count() -> Counter[tuple[int, ...]]:
        return Counter(
            [
                await opened_order(f, fixed_for(observer, number, kind), monkeypatch)
                for number in range(runs)
            ]
        )

    counts = asyncio.run(count())
    orders = list(itertools.permutations(range(len(f))))
    return float(chisquare([counts[order] for order in orders]).pvalue)


@pytest.mark.parametrize("observer", range(3))
@pytest.mark.parametrize("f", [(1, 5, 3), (4, 4, 4), (2, 2, 7)])
def test_the_opened_order_is_uniform_for_whoever_looks(
    f: Sequence[int], observer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert p_of_uniform(f, observer, monkeypatch) > SURE


def test_an_order_that_is_not_shuffled_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert p_of_uniform((1, 5, 3), 0, monkeypatch, Unshuffled, runs=60) < SURE


def _seen_alike(f: Sequence[int], observer: int) -> list[ArithmeticShare]:
    """Shares of which the observer's own components are always the same."""
    rng = np.random.default_rng(1)
    held = {c: rng.integers(0, 2**64, len(f), dtype=np.uint64) for c in range(3)}
    rest = held[observer] + held[(observer + 1) % 3]
    held[(observer + 2) % 3] = to_ring(list(f)) - rest
    return [ArithmeticShare(held[i], held[(i + 1) % 3]) for i in range(3)]


@pytest.mark.parametrize("observer", range(3))
def test_a_range_check_shows_a_node_one_bit_only(observer: int) -> None:
    async def lines(weights: Sequence[int], numbers: range) -> NDArray[np.uint8]:
        shares = _seen_alike(weights, observer)
        seen = []
        for number in numbers:
            run = await parties(
                lambda s: check_ranges(s, shares[s.me], [2], [100], label="r"),
                masks=fixed_for(observer, number),
                record=True,
            )
            opened = int(run.results[observer][0])
            seen.append([opened, *(p[0] & 1 for _, p in run.received[observer])])
        return np.array(seen, dtype=np.uint8)

    async def compare(first: Sequence[int], second: Sequence[int]) -> float:
        return least_p(await lines(first, range(60)), await lines(second, range(60, 120)))

    assert asyncio.run(compare([0, 100], [50, 3])) > SURE
    assert asyncio.run(compare([0, 200], [-1, 3])) > SURE  # both out of range, in different ways
    assert asyncio.run(compare([0, 100], [50, 300])) < SURE  # the opened bit
