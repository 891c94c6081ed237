"""Views of the least of groups: orders of uniform rankings, and masked letters.

The observer's own shares and keys are fixed, and every permutation that it lacks is tried. How
often which orders are opened must be what the simulator gives, which knows no key: it draws a
uniform ranking per group and opens the pairs of the plan.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from tacit.mpc.local import parties
from tacit.mpc.protocols.minimum import Level, find_least, tournament
from tacit.mpc.ring import Words
from tacit.mpc.session import Session
from tacit.mpc.shares import held_by
from tests.mpc.both import three_and_four
from tests.mpc.mask_checks import RememberedMasks
from tests.mpc.secrecy.letters_seen import letters_seen
from tests.mpc.secrecy.sealed_views import CHANCE, arrived_bits, corrected_p
from tests.mpc.secrecy.weakened import SURE, fixed_for, split_alike

Orders = tuple[tuple[int, ...], ...]
Seen = Counter[Orders]
Permutation = tuple[int, ...]


class Scripted(RememberedMasks):
    """Masks of which the permutations under some labels are given."""

    given: dict[tuple[str, int], Permutation]

    def words(self, label: str, component: int, count: int) -> Words:
        if (label, component) not in self.given:
            return super().words(label, component, count)
        words = np.empty(count, dtype=np.uint64)
        words[list(self.given[label, component])] = np.arange(count)
        return words


@contextmanager
def orders_seen() -> Iterator[dict[object, list[tuple[int, ...]]]]:
    """The signs that are opened from now on, by node."""
    seen: dict[object, list[tuple[int, ...]]] = defaultdict(list)
    winners = Level.winners

    def noted(level: Level, less: NDArray[np.uint8], *, largest: bool) -> NDArray[np.intp]:
        # Each node runs in a task of its own.
        seen[asyncio.current_task()].append(tuple(int(sign) for sign in less))
        return winners(level, less, largest=largest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Level, "winners", noted)
        yield seen


async def opened_by(
    secrets: Sequence[NDArray[np.int64]],
    drawn: Sequence[Permutation],
    observer: int,
    nodes: int,
) -> Orders:
    """The signs that are opened for these keys when the observer lacks these permutations."""
    shares = [split_alike(keys, observer, nodes=nodes) for keys in secrets]
    keys = {c: bytes([c + 1]) * 32 for c in range(nodes)}

    def source(me: int) -> Scripted:
        masks = Scripted({c: keys[c] for c in held_by(me, nodes)})
        masks.given = {(f"{k}.order.p", observer): order for k, order in enumerate(drawn)}
        return masks

    async def node(s: Session) -> None:
        for k, share in enumerate(shares):
            await find_least(s, share[s.me], [len(secrets[k])], bits=6, label=str(k), levels=2)

    with orders_seen() as seen:
        await parties(node, nodes=nodes, masks=source)
    (orders,) = {tuple(signs) for signs in seen.values()}
    return orders


def seen_orders(
    secrets: Sequence[Sequence[int]],
    observer: int,
    nodes: int,
    drawn: Callable[[tuple[Permutation, ...]], Sequence[Permutation]] = list,
) -> Seen:
    """How often which orders are opened, over all permutations that the observer lacks."""
    keys = [np.array(secret) for secret in secrets]

    async def everything() -> Seen:
        every = product(*(permutations(range(len(secret))) for secret in secrets))
        return Counter([await opened_by(keys, drawn(each), observer, nodes) for each in every])

    return asyncio.run(everything())


def simulated(sizes: Sequence[int]) -> Seen:
    """The same, of uniform rankings."""
    seen: Seen = Counter()
    for rankings in product(*(permutations(range(size)) for size in sizes)):
        signs = []
        for ranking in rankings:
            ranks, places = np.array(ranking), np.arange(len(ranking))
            for level in tournament((len(ranking),), 2):
                less = (level.differences(ranks[places].astype(np.int64)) < 0).astype(np.uint8)
                signs.append(tuple(int(sign) for sign in less))
                places = places[level.winners(less, largest=False)]
        seen[tuple(signs)] += 1
    return seen


KEYS = {3: ([3, 9, 4, 1], [20, 2, 3, 4]), 4: ([3, 9, 4], [20, 2, 3])}


@three_and_four
def test_orders_are_those_of_uniform_rankings(nodes: int) -> None:
    for observer, keys in enumerate(KEYS[nodes]):
        assert seen_orders([keys], observer, nodes) == simulated([len(keys)])


@three_and_four
def test_orders_of_two_minima_are_independent(nodes: int) -> None:
    assert seen_orders([[1, 2], [3, 2]], 1, nodes) == simulated([2, 2])


@three_and_four
def test_weakened_orders_are_noticed(nodes: int) -> None:
    equal = seen_orders([[3, 9, 9]], 1, nodes)
    assert equal != simulated([3])
    still = seen_orders([[3, 9, 4]], 1, nodes, lambda each: [tuple(range(len(each[0])))])
    assert still != simulated([3])
    one = seen_orders([[1, 2], [3, 2]], 1, nodes, lambda each: [each[0], each[0]])
    assert one != simulated([2, 2])


class Unmasked(RememberedMasks):
    """A weakened source: without a shuffle's masks a node sees the permutation that it lacks."""

    def words(self, label: str, component: int, count: int) -> Words:
        words = super().words(label, component, count)
        return words * np.uint64(0) if "shuffle.q" in label else words


def p_value(observer: int, nodes: int, masks: type[RememberedMasks]) -> float:
    """Whether what arrives and is opened tells two secrets apart; the marks go back, too."""
    secrets = np.array([2, 9]), np.array([9, 2])

    async def lines(keys: NDArray[np.int64], numbers: range) -> NDArray[np.uint8]:
        shares = split_alike(keys, observer, nodes=nodes)

        async def node(s: Session) -> None:
            found = await find_least(s, shares[s.me], [2], bits=6, label="m")
            await found.bit_marks(s, label="back")

        made = []
        for number in numbers:
            with letters_seen() as arrived, orders_seen() as orders:
                await parties(
                    node, nodes=nodes, masks=fixed_for(observer, number, masks, nodes=nodes)
                )
            signs = [sign for order in next(iter(orders.values())) for sign in order]
            made.append(arrived_bits(arrived, observer) + signs)
        return np.array(made, dtype=np.uint8)

    async def both() -> float:
        return corrected_p(
            await lines(secrets[0], range(25)), await lines(secrets[1], range(25, 50))
        )

    return asyncio.run(both())


@three_and_four
def test_letters_show_a_node_nothing(nodes: int) -> None:
    assert p_value(nodes - 1, nodes, RememberedMasks) > CHANCE
    assert p_value(nodes - 1, nodes, Unmasked) < SURE
