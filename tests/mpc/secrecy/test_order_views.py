"""Shuffles and labels show nobody an order: by enumeration, and with weakened ones."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tacit.mpc.protocols import (
    labels,
    shuffle,
)
from tacit.mpc.protocols.shuffle import SecretPermutation, draw_order
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, NODES, ArithmeticShare, BitShare, Share
from tests.mpc.secrecy.leaks import Make, leaks, seeds, shares_seen_alike
from tests.mpc.secrecy.views import Protocol, Setting, Weaken, dropped, honest, reused, views

pytestmark = pytest.mark.slow


def shuffled(back: bool) -> Make:
    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> None:
            order = draw_order(s, 2, label="o")
            if back:
                await shuffle.unshuffle_to_coordinator(s, shares[s.me], order, label="s")
            else:
                await shuffle.shuffle(s, shares[s.me], order, label="s")

        return node, (lambda s: shuffle.receive_unshuffled(s, 2)) if back else None

    return make


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("observer", NODES)
def test_shuffle(observer: int, back: bool) -> None:
    def look(weaken: Weaken, kind: type[Share] = ArithmeticShare, bits: int = 2) -> bool:
        secrets = [[0, 0], [1, 0], [3, 2]] if bits > 1 else [[0, 0], [1, 0], [1, 1]]
        setting = Setting(bits=bits, weaken=weaken)
        return leaks(
            shuffled(back), secrets, [observer], kind, ring=bits, setting=setting, reduce=True
        )

    assert not look(honest, BitShare, 1)
    assert not look(honest)
    alpha = 2 if back else 0
    if observer == alpha:
        return  # it receives nothing, so no weakening shows anything to it
    if observer == 1:
        assert look(dropped("s.Z"))
    if back:
        return  # the second round goes to the coordinator
    assert look(dropped("s.A" if observer == 1 else "s.B"))
    assert look(reused("s.A", "s.Z") if observer == 1 else reused("s.B", "s.Z"))


@pytest.mark.parametrize("observer", NODES)
def test_shuffle_of_two_columns(observer: int) -> None:
    """Each cell of a row has masks of its own."""

    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> None:
            share = shares[s.me]
            rows = BitShare(share.mine[None, :], share.next[None, :])
            await shuffle.shuffle(s, rows, draw_order(s, 1, label="o"), label="s")

        return node, None

    def look(weaken: Weaken) -> bool:
        secrets = [[0, 0], [0, 1], [1, 0]]
        setting = Setting(bits=1, weaken=weaken)
        return leaks(make, secrets, [observer], BitShare, ring=1, setting=setting, reduce=False)

    assert not look(honest)
    if observer == 1:
        assert look(dropped("s.Z"))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("observer", NODES)
def test_shuffle_hides_the_third_permutation(observer: int, back: bool) -> None:
    def look(weaken: Weaken) -> bool:
        return any(
            tells_orders_apart(
                shuffled(back)(
                    shares_seen_alike([2, 1], observer, ArithmeticShare, ring=2, seed=seed)
                ),
                [observer],
                weaken,
                ring=2,
                only=seed,
            )
            for seed in seeds(weaken)
        )

    assert not look(honest)
    if observer == (0 if back else 2):  # gamma holds what beta sends it, but for the order
        assert look(dropped("s.Z"))


@pytest.mark.parametrize("node", NODES)
def test_shuffle_back_to_the_coordinator_with_one_node(node: int) -> None:
    """The coordinator and one node together learn the opened rows and not the order.

    The secret is here which of two permutations the other two nodes share; the rows are equal, so
    what is opened is the same either way.
    """

    def make(shares: list[Any]) -> Protocol:
        async def run(s: Session) -> None:
            order = draw_order(s, 2, label="o")
            await shuffle.unshuffle_to_coordinator(s, shares[s.me], order, label="s")

        return run, lambda s: shuffle.receive_unshuffled(s, 2, xor=True)

    def look(weaken: Weaken) -> bool:
        async def both(seed: int) -> bool:
            shares = shares_seen_alike([1, 1], node, BitShare, ring=1, seed=seed)
            counts = []
            for order in ([0, 1], [1, 0]):
                fixed = {("o.p", (node + 2) % 3): np.array(order)}
                setting = Setting(bits=1, weaken=weaken, fixed=fixed)
                counts.append(
                    await views(make(shares), [COORDINATOR, node], setting=setting, seed=seed)
                )
            return counts[0] != counts[1]

        return any(asyncio.run(both(seed)) for seed in seeds(weaken))

    assert not look(honest)
    if node == 2:  # alpha on the way back, which could recognise what it sent
        assert look(dropped("s.z"))


def labelled(public: Sequence[int]) -> Protocol:
    async def node(s: Session) -> None:
        order = draw_order(s, len(public), label="o")
        await labels.labels_to_coordinator(s, np.array(public, np.uint32), order, label="l")

    return node, lambda s: labels.receive_labels(s, len(public))


def tells_orders_apart(
    protocol: Protocol,
    observers: Sequence[int],
    weaken: Weaken,
    *,
    ring: int | None = None,
    only: int | None = None,
) -> bool:
    """Whether the observers see which of two permutations the other two nodes share."""
    node = next(o for o in observers if o != COORDINATOR)
    bits = 2 if ring else 1
    lanes = (0,) if ring else (0, 32)  # two labels of 32 bits in a word

    async def look(seed: int) -> bool:
        counts = []
        for order in ([0, 1], [1, 0]):
            fixed = {("o.p", (node + 2) % 3): np.array(order)}
            setting = Setting(bits=bits, lanes=lanes, weaken=weaken, fixed=fixed)
            counts.append(await views(protocol, observers, setting=setting, seed=seed, ring=ring))
        return counts[0] != counts[1]

    tried = seeds(weaken) if only is None else [only]
    return any(asyncio.run(look(seed)) for seed in tried)


@pytest.mark.parametrize("node", NODES)
def test_labels_to_the_coordinator(node: int) -> None:
    assert not tells_orders_apart(labelled([0, 1]), [node], honest)
    if node == 1:
        assert tells_orders_apart(labelled([0, 1]), [node], dropped("l.a"))
    # With equal labels the coordinator's answer is the same for both orders.
    assert not tells_orders_apart(labelled([1, 1]), [COORDINATOR, node], honest)
    if node == 2:
        assert tells_orders_apart(labelled([1, 1]), [COORDINATOR, node], dropped("l.z"))


@pytest.mark.parametrize("node", NODES)
def test_labels_to_shares(node: int) -> None:
    async def run(s: Session) -> None:
        order = draw_order(s, 2, label="o")
        await labels.labels_to_shares(s, np.array([0, 1], np.uint64), order, label="l")

    assert not tells_orders_apart((run, None), [node], honest, ring=2)
    if node < 2:
        assert tells_orders_apart((run, None), [node], dropped("l.m"), ring=2)
    if node == 0:
        assert tells_orders_apart((run, None), [node], reused("l.r", "l.m"), ring=2)


def test_an_order_needs_all_three_permutations() -> None:
    order = SecretPermutation({0: np.array([1, 0]), 1: np.array([0, 1])})
    with pytest.raises(KeyError):
        order.apply(2, np.array([1, 2]), back=False)
