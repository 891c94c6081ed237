"""The start of a sealed search is any order to each node, and its messages say nothing."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from tacit.mpc.local import parties, reveal
from tacit.mpc.ring import Words
from tacit.mpc.sealed.state import secret_start
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.sealed.searches import Search
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import (
    CHANCE,
    WEIGHTS,
    corrected_p,
    seen_alike,
)
from tests.mpc.secrecy.weakened import SURE, fixed_for

pytestmark = pytest.mark.slow

RUNS = 40
"""Half of the orders of three would give a p-value of 1e-7."""

ORDER = "start.order.p"


class NotMixed(RememberedMasks):
    """A weakened source: the items stay where they are."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == ORDER:
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class KnownOrder(RememberedMasks):
    """A weakened source: every permutation is one that all nodes could derive."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label == ORDER:
            return RememberedMasks({component: bytes(32)}).words(label, component, count)
        return super().words(label, component, count)


class SameForAll(RememberedMasks):
    """A weakened source: all parents start in the same order."""

    def words(self, label: str, component: int, count: int) -> Words:
        words = super().words(label, component, count)
        return np.tile(words[: count // 2], 2) if label == ORDER else words


def p_of_any_order(nodes: int, observer: int, masks: type[RememberedMasks], *, runs: int) -> float:
    """The p-value for all starts being as likely, with all that the observer draws held fixed."""
    search = Search.random(3, children=3)
    shares = search.dealt(nodes)

    async def order(number: int) -> tuple[int, ...]:
        run = await parties(
            lambda s: secret_start(s, shares[s.me], search.about, label="start"),
            nodes=nodes,
            masks=fixed_for(observer, number, masks, nodes=nodes),
        )
        table = reveal([state.table for state in run.results])[0]
        items = table[:, -1].astype(np.intp)
        assert np.array_equal(table[:, :-1], search.values[np.ix_(items, items)])
        return tuple(items.tolist())

    async def count() -> Counter[tuple[int, ...]]:
        return Counter([await order(number) for number in range(runs)])

    counts = asyncio.run(count())
    return float(chisquare([counts[each] for each in itertools.permutations(range(3))]).pvalue)


@pytest.mark.parametrize(("nodes", "observer"), [(3, 0), (3, 2), (4, 1), (4, 3)])
def test_the_start_is_any_order_to_each_node(nodes: int, observer: int) -> None:
    assert p_of_any_order(nodes, observer, RememberedMasks, runs=RUNS) > CHANCE


@pytest.mark.parametrize(("nodes", "observer"), [(3, 0), (3, 2), (4, 3)])
@pytest.mark.parametrize("masks", [NotMixed, KnownOrder])
def test_a_start_that_a_node_could_derive_is_caught(
    masks: type[RememberedMasks], nodes: int, observer: int
) -> None:
    assert p_of_any_order(nodes, observer, masks, runs=24) < SURE


def p_of_two_starts(nodes: int, observer: int, masks: type[RememberedMasks], *, runs: int) -> float:
    """The p-value for the orders of two parents having nothing to do with each other."""
    search = Search.random(2, children=3, parents=2)
    shares = search.dealt(nodes)

    async def count() -> Counter[tuple[int, ...]]:
        counts: Counter[tuple[int, ...]] = Counter()
        for number in range(runs):
            run = await parties(
                lambda s: secret_start(s, shares[s.me], search.about, label="start"),
                nodes=nodes,
                masks=fixed_for(observer, number, masks, nodes=nodes),
            )
            table = reveal([state.table for state in run.results])
            counts[tuple(table[:, 0, -1].tolist())] += 1
        return counts

    counts = asyncio.run(count())
    return float(chisquare([counts[a, b] for a in (0, 1) for b in (0, 1)]).pvalue)


@pytest.mark.parametrize(("nodes", "observer"), [(3, 1), (4, 3)])
def test_each_parent_starts_in_an_order_of_its_own(nodes: int, observer: int) -> None:
    assert p_of_two_starts(nodes, observer, RememberedMasks, runs=RUNS) > CHANCE
    assert p_of_two_starts(nodes, observer, SameForAll, runs=RUNS) < SURE


def p_value(nodes: int, observer: int, masks: type[RememberedMasks]) -> float:
    """The p-value for two different matrices giving the same view of the start."""
    schedule = Search.random(4, spread=9, children=3).schedule

    async def lines(search: Search, numbers: range) -> NDArray[np.uint8]:
        shares = seen_alike(search.values, observer, search.about, nodes=nodes)
        seen = []
        for number in numbers:
            with letters_seen() as arrived:
                await parties(
                    lambda s: secret_start(s, shares[s.me], search.about, label="start"),
                    nodes=nodes,
                    masks=fixed_for(observer, number, masks, nodes=nodes),
                )
            first = b"".join(each.tobytes()[:4] for each in arrived[observer])
            seen.append(np.unpackbits(np.frombuffer(first, dtype=np.uint8)))
        return np.array(seen, dtype=np.uint8)

    async def both() -> float:
        first = await lines(Search(WEIGHTS[0], schedule), range(40))
        return corrected_p(first, await lines(Search(WEIGHTS[1], schedule), range(40, 80)))

    return asyncio.run(both())


@pytest.mark.parametrize(("nodes", "observer"), [(3, 1), (4, 3)])
def test_the_start_shows_a_node_nothing(nodes: int, observer: int) -> None:
    assert p_value(nodes, observer, RememberedMasks) > CHANCE
