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
from tacit.mpc.disclose import evaluation
from tacit.mpc.local import deal_integers, parties
from tacit.mpc.masks import MaskSource
from tacit.mpc.protocols.ranking import Ranking, rank_all_pairs
from tacit.mpc.shares import ArithmeticShare
from tests.mpc.both import three_and_four
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.weakened import SURE, fixed_for, least_p, split_alike

pytestmark = pytest.mark.slow

RUNS = 40
"""Half of the orders of three would give a p-value of 1e-7."""


async def opened_order(
    f: Sequence[int],
    masks: Callable[[int], MaskSource],
    monkeypatch: pytest.MonkeyPatch,
    nodes: int,
) -> tuple[int, ...]:
    """The ranks of the shuffled positions, which all nodes see."""
    seen: list[tuple[int, ...]] = []
    shares = deal_integers(list(f), nodes=nodes)

    async def noted(
        session: Session, keys: ArithmeticShare, kept: ArithmeticShare, **options: Any
    ) -> Ranking:
        ranking = await rank_all_pairs(session, keys, kept, **options)
        seen.append(tuple(ranking.ranks.tolist()))
        return ranking

    with monkeypatch.context() as patch:
        patch.setattr(evaluation, "rank_all_pairs", noted)
        spec, bound = Spec.parse("order"), FitnessBound(0, 7)
        await parties(
            lambda s: evaluate(s, shares[s.me], spec=spec, bound=bound, best="nothing"),
            nodes=nodes,
            masks=masks,
        )
    assert len(seen) == nodes
    assert len(set(seen)) == 1
    return seen[0]


def p_of_uniform(
    f: Sequence[int],
    observer: int,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[RememberedMasks] = RememberedMasks,
    *,
    nodes: int,
) -> float:
    async def count() -> Counter[tuple[int, ...]]:
        return Counter(
            [
                await opened_order(
                    f, fixed_for(observer, number, kind, nodes=nodes), monkeypatch, nodes
                )
                for number in range(RUNS)
            ]
        )

    counts = asyncio.run(count())
    orders = list(itertools.permutations(range(len(f))))
    return float(chisquare([counts[order] for order in orders]).pvalue)


@pytest.mark.parametrize(
    ("f", "nodes", "observer"),
    [
        *(((1, 5, 3), 3, observer) for observer in range(3)),
        *(((1, 5, 3), 4, observer) for observer in range(4)),
        ((4, 4, 4), 3, 1),
    ],
)
def test_the_opened_order_is_uniform_for_whoever_looks(
    f: Sequence[int], nodes: int, observer: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert p_of_uniform(f, observer, monkeypatch, nodes=nodes) > SURE


class OneUnshuffled(RememberedMasks):
    """A weakened source: the permutation of component 1 does not permute."""

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        order = super().permutation(label, component, size)
        return np.arange(size) if component == 1 else order


@three_and_four
def test_an_order_without_one_nodes_missing_permutation_is_caught(
    nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = p_of_uniform((1, 5, 3), 1, monkeypatch, OneUnshuffled, nodes=nodes)
    assert p < SURE
    assert p_of_uniform((1, 5, 3), 0, monkeypatch, OneUnshuffled, nodes=nodes) > SURE


@pytest.mark.parametrize(("nodes", "observer"), [(3, 1), (4, 3)])
def test_a_range_check_shows_a_node_one_bit_only(nodes: int, observer: int) -> None:
    async def lines(weights: Sequence[int], numbers: range) -> NDArray[np.uint8]:
        shares = split_alike(np.array(weights), observer, nodes=nodes)
        seen = []
        for number in numbers:
            run = await parties(
                lambda s: check_ranges(s, shares[s.me], [2], [100], label="r"),
                nodes=nodes,
                masks=fixed_for(observer, number, nodes=nodes),
                record=True,
            )
            opened = int(run.results[observer][0])
            seen.append([opened, *(p[0] & 1 for _, p in run.received[observer])])
        return np.array(seen, dtype=np.uint8)

    async def compare(first: Sequence[int], second: Sequence[int]) -> float:
        return least_p(await lines(first, range(20)), await lines(second, range(20, 40)))

    assert asyncio.run(compare([0, 100], [50, 3])) > SURE
    assert asyncio.run(compare([0, 200], [-1, 3])) > SURE  # both out of range, in different ways
    assert asyncio.run(compare([0, 100], [50, 300])) < SURE  # the opened bit
