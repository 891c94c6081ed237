"""A node's view of a forest does not depend on the costs; weakened ones are caught.

The observer's own shares and keys are the same in every run, and the key that it lacks is new. What
is opened is compared for two different matrices. The orders that sorting opens are enumerated;
those of minima are in `test_minimum_views`. What arrives besides are letters of protocols that
other tests here look at one by one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.forest import Coins, ForestShape, ForestState, Phase, advance, ordering
from tacit.mpc.forest.ordering import sort_lines
from tacit.mpc.local import parties
from tacit.mpc.protocols.bit_products import both, matrix_product
from tacit.mpc.protocols.tournament import Level
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import ArithmeticShare, held_by
from tests.mpc.both import three_and_four
from tests.mpc.remembered_masks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, corrected_p
from tests.mpc.secrecy.test_minimum_views import Scripted
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike, split_bits_alike

SHAPE = ForestShape(2, 9)
OBSERVER = 1
NODE: ContextVar[int] = ContextVar("node")
Opened = dict[tuple[int, str], list[int]]


@contextmanager
def opened_signs() -> Iterator[Opened]:
    """What minima and sorting open from now on, by node and kind."""
    seen: Opened = defaultdict(list)
    winners, places = Level.winners, ordering._places

    def of_minimum(level: Level, less: NDArray[np.uint8], *, largest: bool) -> NDArray[np.intp]:
        seen[NODE.get(), "minimum"] += [int(sign) for sign in less]
        return winners(level, less, largest=largest)

    def of_order(less: NDArray[np.uint8], size: int) -> NDArray[np.intp]:
        seen[NODE.get(), "order"] += [int(sign) for sign in less.reshape(-1)]
        return places(less, size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Level, "winners", of_minimum)
        patch.setattr(ordering, "_places", of_order)
        yield seen


def known_state(which: int, nodes: int) -> tuple[list[ArithmeticShare], list[ForestState]]:
    """Scaled costs and a state with one matched row; the observer's own parts are always the same.

    The second problem is the first with rows and columns in the other order.
    """
    way = slice(None, None, -1 if which else 1)
    matched = np.array([[1, 0], [0, 0]])[way, way]

    def split(numbers: NDArray[np.int64]) -> list[ArithmeticShare]:
        shares = split_alike(numbers[None], OBSERVER, nodes=nodes)
        return [share.map(lambda part: part.astype(SHAPE.word)) for share in shares]

    costs = split(SHAPE.scale * np.array([[0, 5], [0, 9]])[way, way])
    numbers, none = split(matched), split(np.zeros(2, dtype=np.int64))
    prices = split(SHAPE.scale * np.array([0, 5])[way])
    bits = split_bits_alike(matched[None].astype(np.uint8), OBSERVER, nodes=nodes)
    return costs, [
        ForestState(bits[i], numbers[i], prices[i], none[i], none[i]) for i in range(nodes)
    ]


async def observed(
    which: int, masks: type[RememberedMasks], numbers: range, nodes: int
) -> NDArray[np.uint8]:
    """One line per run of a phase: all signs that are opened to the observer."""
    costs, states = known_state(which, nodes)

    async def node(s: Session) -> None:
        NODE.set(s.me)
        await advance(s, states[s.me], costs[s.me], [Phase(1, 2, 1)], SHAPE, Coins(1))

    lines = []
    for number in numbers:
        source = fixed_for(OBSERVER, number, masks, nodes=nodes)
        with opened_signs() as signs:
            await parties(node, nodes=nodes, masks=source)
        lines.append(signs[OBSERVER, "minimum"] + signs[OBSERVER, "order"])
    return np.array(lines, dtype=np.uint8)


def p_value(nodes: int, masks: type[RememberedMasks] = RememberedMasks, runs: int = 20) -> float:
    """Whether the opened signs are the same for two problems."""

    async def two() -> float:
        first = await observed(0, masks, range(runs), nodes)
        second = await observed(1, masks, range(runs, 2 * runs), nodes)
        return corrected_p(first, second)

    return asyncio.run(two())


class NotMixed(RememberedMasks):
    """A weakened source: what goes into the minima of roots stays where it is."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label.endswith("roots.order.p"):
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


class Unsorted(RememberedMasks):
    """A weakened source: columns are not shuffled before they are sorted."""

    def words(self, label: str, component: int, count: int) -> Words:
        if label.endswith("columns.order.p"):
            return np.arange(count, dtype=np.uint64)
        return super().words(label, component, count)


@pytest.mark.slow
@three_and_four
def test_what_a_phase_opens_does_not_depend_on_the_costs(nodes: int) -> None:
    assert p_value(nodes, runs=12) > CHANCE


@pytest.mark.slow
@pytest.mark.parametrize(("masks", "nodes"), [(NotMixed, 3), (Unsorted, 3)])
def test_weakened_phases_are_caught(masks: type[RememberedMasks], nodes: int) -> None:
    assert p_value(nodes, masks) < SURE


class Unmasked(RememberedMasks):
    """A weakened source: products of bits have no masks."""

    def words(self, label: str, component: int, count: int) -> Words:
        return super().words(label, component, count) * np.uint64(0)


@three_and_four
def test_products_of_bits_show_nothing(nodes: int) -> None:
    """Two ANDs and a product of matrices of one line."""

    async def lines(
        bits: list[int], masks: type[RememberedMasks], numbers: range
    ) -> NDArray[np.uint8]:
        shares = split_bits_alike(np.array(bits, dtype=np.uint8), OBSERVER, nodes=nodes)

        async def node(s: Session) -> None:
            x = shares[s.me]
            await both(s, x[:2], x[2:], label="and")
            await matrix_product(s, x[None, :2], x[2:, None], label="product")

        made = []
        for number in numbers:
            with letters_seen() as arrived:
                source = fixed_for(OBSERVER, number, masks, nodes=nodes)
                await parties(node, nodes=nodes, masks=source)
            made.append(np.unpackbits(np.concatenate([e.reshape(-1) for e in arrived[OBSERVER]])))
        return np.array(made, dtype=np.uint8)

    async def compared(masks: type[RememberedMasks]) -> float:
        return corrected_p(
            await lines([1, 1, 1, 0], masks, range(40)),
            await lines([0, 1, 0, 1], masks, range(40, 80)),
        )

    assert asyncio.run(compared(RememberedMasks)) > CHANCE
    assert asyncio.run(compared(Unmasked)) < SURE


@three_and_four
def test_orders_of_sorted_lines_are_uniform(nodes: int) -> None:
    async def opened(keys: list[int], order: tuple[int, ...]) -> tuple[int, ...]:
        shares = split_alike(np.array(keys)[:, None], OBSERVER, nodes=nodes)

        def source(me: int) -> Scripted:
            masks = Scripted({c: bytes([c + 1]) * 32 for c in held_by(me, nodes)})
            masks.given = {("o.order.p", OBSERVER): order}
            return masks

        async def node(s: Session) -> None:
            NODE.set(s.me)
            await sort_lines(s, shares[s.me], 1, bits=6, label="o")

        with opened_signs() as signs:
            await parties(node, nodes=nodes, masks=source)
        return tuple(signs[OBSERVER, "order"])

    async def counted(keys: list[int]) -> Counter[tuple[int, ...]]:
        return Counter([await opened(keys, order) for order in permutations(range(len(keys)))])

    distinct = [asyncio.run(counted(keys)) for keys in ([1, 2, 3], [20, 3, 7])]
    assert distinct[0] == distinct[1]
    assert set(distinct[0].values()) == {1}
    assert asyncio.run(counted([5, 5, 3])) != distinct[0]
