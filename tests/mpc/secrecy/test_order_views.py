"""Shuffles and labels show nobody an order: by enumeration, and with each mask forgotten.

A node's view must depend neither on the rows nor on the permutation that it lacks, and the
coordinator's, together with one node's, on nothing but the rows at their original positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from tacit.mpc.protocols import shuffle
from tacit.mpc.protocols.shuffle import draw_order
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, ArithmeticShare, BitShare, Share, held_by
from tests.mpc.both import three_and_four
from tests.mpc.secrecy.enumeration import (
    Array,
    Draw,
    Protocol,
    Setting,
    Slot,
    check_masks,
    draws_of,
    seen_alike,
    spread,
    tells_apart,
    unnoticed,
    views,
)

N = 2
ORDERS = np.array([0, 1]), np.array([1, 0])
SECRETS = [np.array(rows, dtype=np.uint8) for rows in ([0, 0], [1, 0], [0, 1], [1, 1])]


def build_shuffle(
    observer: int, nodes: int, kind: type[Share] = BitShare, ring: int = 1
) -> Callable[[Array, int], Callable[[int], Protocol]]:
    def build(secret: Array, seed: int) -> Callable[[int], Protocol]:
        shares = seen_alike(secret, observer, kind, nodes=nodes, ring=ring, seed=seed)

        def make(instances: int) -> Protocol:
            wide = spread(shares, instances)

            async def node(s: Session) -> None:
                await shuffle.shuffle(s, wide[s.me], draw_order(s, N, label="o"), label="s")

            return node, None

        return make

    return build


@three_and_four
def test_shuffle(nodes: int) -> None:
    setting = Setting(nodes, dtype=np.uint8)
    for observer in range(nodes):
        build = build_shuffle(observer, nodes)
        assert not check_masks(build, SECRETS, setting, observer)


@three_and_four
def test_shuffle_of_numbers(nodes: int) -> None:
    """Numbers of two bits, of which a difference tells the order that bits do not."""
    setting = Setting(nodes, bits=2, dtype=np.uint8)
    secrets = [np.array(rows, dtype=np.uint8) for rows in ([0, 0], [1, 3])]
    for observer in range(nodes):
        build = build_shuffle(observer, nodes, ArithmeticShare, 2)
        for seed in range(3):
            assert not tells_apart(build, secrets, [observer], setting, seed=seed)


Node = Callable[[Session, Any], Any]


def rows_back(told: bool) -> Node:
    async def node(s: Session, share: Any) -> None:
        order = draw_order(s, N, label="o")
        await shuffle.unshuffle_to_coordinator(s, share, order, label="s", told=told)

    return node


def labels_back(told: bool) -> Node:
    async def node(s: Session, public: Any) -> None:
        order = draw_order(s, N, label="o")
        await shuffle.labels_to_coordinator(s, public, order, label="s", told=told)

    return node


async def rows_shared(s: Session, share: Any) -> None:
    order = draw_order(s, N, label="o")
    await shuffle.unshuffle(s, share, order, label="s")


async def labels_shared(s: Session, public: Any) -> None:
    order = draw_order(s, N, label="o")
    await shuffle.labels_to_shares(s, public, order, label="s", kind=ArithmeticShare)


def shuffled(rows: Array, orders: Mapping[Draw, Array]) -> Array:
    """The rows in the secret order."""
    for draw in sorted(orders, key=lambda draw: draw[1]):
        rows = rows[orders[draw]]
    return rows


class Back:
    """A way back of rows or labels, as some observers see it."""

    def __init__(
        self, node: Node, nodes: int, observers: list[int], *, public: bool, out: bool = True
    ) -> None:
        self.node, self.nodes, self.observers, self.public = node, nodes, observers, public
        self.out = out
        self.observer = observers[-1]
        some = np.zeros(N, dtype=np.uint8)
        self.drawn = draws_of(self.make(some, 0, {}), Setting(nodes, dtype=np.uint8))

    def make(self, original: Array, seed: int, orders: Mapping[Draw, Array]) -> Any:
        """The protocol on what the original rows become in this order; on labels as they are."""
        mixed = original if self.public else shuffled(original, orders)
        shares = (
            [mixed] * self.nodes
            if self.public
            else seen_alike(mixed, self.observer, BitShare, nodes=self.nodes, ring=1, seed=seed)
        )

        def on(instances: int) -> Protocol:
            wide = (
                [
                    np.ascontiguousarray(np.broadcast_to(each[:, None], (N, instances)))
                    for each in shares
                ]
                if self.public
                else spread(shares, instances)
            )
            back = None
            if self.out:

                async def back(s: Session) -> None:
                    await shuffle.receive_unshuffled(s, (N, instances), dtype=np.uint8, xor=True)

            return lambda s: self.node(s, wide[s.me]), back

        return on

    def tells(self, originals: list[Array], zero: frozenset[Slot], seed: int) -> bool:
        """Whether the observers see which of these rows it was, or which order they lack."""
        setting = Setting(self.nodes, dtype=np.uint8, zero=zero)
        rng = np.random.default_rng(seed + 20)
        known = {("o.p", c): rng.permutation(N) for c in held_by(self.observer, self.nodes)}
        found: set[bytes] = set()
        for original in originals:
            for order in ORDERS:
                orders = {**known, ("o.p", self.observer): order}
                make = self.make(original, seed, orders)
                seen = views(
                    make, self.observers, setting, seed=seed, orders=orders, drawn=self.drawn
                )
                found |= set(seen.values())
                if len(found) > 1:
                    return True
        return False

    def check(
        self, originals: list[Array], spare: Callable[[Slot], bool] = lambda _: False
    ) -> None:
        """Nothing is seen, and something is without any one of the masks against the observer."""
        assert not any(self.tells(originals, frozenset(), seed) for seed in range(2))
        slots, _ = self.drawn
        own = [
            (label, c, k)
            for (label, c), count in slots.items()
            if c == self.observer
            for k in range(count)
            if not spare((label, c, k))
        ]
        assert not unnoticed(lambda zero, seed: self.tells(originals, zero, seed), own)


def to_coordinator(slot: Slot) -> bool:
    """Masks of the last stage, whose letters go to the coordinator, not to the node."""
    return slot[0] == "s.q0"


def cancels(slot: Slot) -> bool:
    """The mask of the last stage's first letter, to which its stage's component is added.

    Node 1 does not get that component, of which it would send nothing on.
    """
    return slot[0] in ("s.q0", "s.q1") and slot[2] < N


@three_and_four
@pytest.mark.parametrize("told", [False, True])
def test_rows_to_the_coordinator(told: bool, nodes: int) -> None:
    for node in range(nodes):
        together = Back(rows_back(told), nodes, [COORDINATOR, node], public=False)
        together.check([np.array([0, 1], dtype=np.uint8)], cancels)
        assert together.tells(SECRETS, frozenset(), 0)
        if not told:
            alone = Back(rows_back(told), nodes, [node], public=False)
            alone.check(SECRETS, lambda slot: to_coordinator(slot) or cancels(slot))


def unseen(slot: Slot, nodes: int) -> bool:
    """Masks that hide nothing where all labels are equal: of the first letters, of labels alone."""
    return slot[0] == f"s.q{nodes - 2}" or (slot[0] == "s.q0" and slot[2] < N)


@three_and_four
@pytest.mark.parametrize("told", [False, True])
def test_labels_to_the_coordinator(told: bool, nodes: int) -> None:
    """Labels of shuffled positions are public; nobody sees by them what the order is."""
    for node in range(nodes):
        # Where the labels are equal, what the coordinator gets is the same for any order.
        together = Back(labels_back(told), nodes, [COORDINATOR, node], public=True)
        together.check([np.array([1, 1], dtype=np.uint8)], lambda slot: unseen(slot, nodes))
        if not told:
            alone = Back(labels_back(told), nodes, [node], public=True)
            alone.check([np.array([0, 1], dtype=np.uint8)], to_coordinator)


@three_and_four
def test_labels_to_shares(nodes: int) -> None:
    for node in range(nodes):
        alone = Back(labels_shared, nodes, [node], public=True, out=False)
        alone.check([np.array([0, 1], dtype=np.uint8)])


@three_and_four
def test_rows_back_to_shares(nodes: int) -> None:
    for node in range(nodes):
        alone = Back(rows_shared, nodes, [node], public=False, out=False)
        alone.check(SECRETS)
