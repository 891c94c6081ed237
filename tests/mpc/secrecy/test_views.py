"""For two different secrets each node sees the same, letter for letter, by enumeration.

Every test runs the honest protocol, which must pass, and the protocol with each of its masks
forgotten in turn, which must not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tacit.mpc.protocols import halves, less_than, opening, pairwise
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, ArithmeticShare, BitShare, Share, held_by
from tests.mpc.both import three_and_four
from tests.mpc.secrecy.enumeration import (
    Array,
    Protocol,
    Setting,
    Slot,
    check_masks,
    seen_alike,
    spread,
    tells_apart,
    views,
)

Build = Callable[[Array, int], Callable[[int], Protocol]]


def built(
    node: Callable[[Session, Any], Any],
    observer: int,
    kind: type[Share],
    nodes: int,
    ring: int,
    coordinator: Any = None,
) -> Build:
    """The protocol on shares of a secret of which the observer's own part is always the same."""

    def build(secret: Array, seed: int) -> Callable[[int], Protocol]:
        shares = seen_alike(secret, observer, kind, nodes=nodes, ring=ring, seed=seed)

        def make(instances: int) -> Protocol:
            wide = spread(shares, instances)
            back = None if coordinator is None else lambda s: coordinator(s, instances)
            return lambda s: node(s, wide[s.me]), back

        return make

    return build


def words(*secrets: list[int]) -> list[Array]:
    return [np.array(secret, dtype=np.uint64) for secret in secrets]


@three_and_four
def test_product(nodes: int) -> None:
    async def product(s: Session, x: ArithmeticShare) -> None:
        await pairwise.multiply(s, x[0], x[1], label="m")

    for observer in range(nodes):
        build = built(product, observer, ArithmeticShare, nodes, 2)
        secrets = words([0, 0], [1, 3], [3, 2], [2, 2])
        assert not check_masks(build, secrets, Setting(nodes, bits=2), observer)


@three_and_four
def test_and(nodes: int) -> None:
    async def both(s: Session, x: BitShare) -> None:
        await pairwise.and_bits(s, x[0], x[1], label="a")

    for observer in range(nodes):
        build = built(both, observer, BitShare, nodes, 1)
        secrets = words([0, 0], [1, 0], [0, 1], [1, 1])
        assert not check_masks(build, secrets, Setting(nodes), observer)


@three_and_four
def test_bits_to_numbers(nodes: int) -> None:
    async def convert(s: Session, x: BitShare) -> None:
        await halves.bits_to_arithmetic(s, x[0].map(lambda part: part.astype(np.uint8)), label="b")

    for observer in range(nodes):
        build = built(convert, observer, BitShare, nodes, 1)
        setting = Setting(nodes, bits=2)
        assert not check_masks(build, words([0], [1]), setting, observer)


@three_and_four
def test_choice(nodes: int) -> None:
    """The first number is chosen by the lowest bit of the second, whose components are XORed."""

    async def chosen(s: Session, x: ArithmeticShare) -> None:
        bits = BitShare({c: part[1].astype(np.uint8) & 1 for c, part in x.parts.items()})
        await halves.choose(s, bits, x[0], label="c")

    for observer in range(nodes):
        build = built(chosen, observer, ArithmeticShare, nodes, 2)
        secrets = words([0, 0], [1, 3], [3, 2], [2, 1])
        assert not check_masks(build, secrets, Setting(nodes, bits=2), observer)


def comparison(observer: int, nodes: int, bits: int, *, kept: bool) -> Build:
    async def node(s: Session, x: ArithmeticShare) -> None:
        numbers = x[0]
        opened, rest = (numbers[:0], numbers) if kept else (numbers, numbers[:0])
        await less_than.compare_batch(s, opened, rest, bits=bits, label="c")

    return built(node, observer, ArithmeticShare, nodes, bits)


def is_padding(slot: Slot, bits: int) -> bool:
    """Whether it masks a lowest block's missing bit, which is zero, or its product."""
    label, _, at = slot
    blocks = bits // 2
    return bits % 2 == 0 and label.startswith("c.bits.") and at in (blocks - 1, 3 * blocks - 1)


@three_and_four
def test_comparison_with_kept_sign(nodes: int) -> None:
    """Two blocks: halves, blocks and the last AND."""
    secrets = words([0], [5], [12], [7])
    setting = Setting(nodes, packed=True, dtype=np.uint8)
    for observer in range(nodes):
        build = comparison(observer, nodes, 4, kept=True)
        assert not check_masks(
            build, secrets, setting, observer, seeds=24, spare=lambda s: is_padding(s, 4)
        )


@three_and_four
def test_comparison_with_a_level_of_the_tree(nodes: int) -> None:
    """Three blocks; the masks of the level are looked at, the others are those of two blocks."""
    setting = Setting(nodes, packed=True, dtype=np.uint8)
    for observer in range(nodes):
        build = comparison(observer, nodes, 6, kept=True)
        assert not check_masks(
            build,
            words([0], [17], [48]),
            setting,
            observer,
            seeds=24,
            looks=1,
            spare=lambda slot: not slot[0].startswith("c.0."),
        )


@three_and_four
def test_comparison_of_one_block(nodes: int) -> None:
    """There is no AND of blocks then; what is left is masked as ever."""
    setting = Setting(nodes, packed=True, dtype=np.uint8)
    for observer in range(nodes):
        build = comparison(observer, nodes, 3, kept=True)
        assert not tells_apart(build, words([0], [3], [6], [4]), [observer], setting)


@three_and_four
def test_comparison_with_opened_sign(nodes: int) -> None:
    positive, negative = words([0], [5], [7]), words([8], [13])
    setting = Setting(nodes, packed=True, dtype=np.uint8)
    for observer in range(nodes):
        build = comparison(observer, nodes, 4, kept=False)
        assert not check_masks(
            build, positive, setting, observer, seeds=24, spare=lambda s: is_padding(s, 4)
        )
        assert not tells_apart(build, negative, [observer], setting)
        # The sign itself is what they learn.
        assert tells_apart(build, [positive[0], negative[0]], [observer], setting)


@three_and_four
def test_opening_to_nodes_shows_the_value(nodes: int) -> None:
    async def open_it(s: Session, x: ArithmeticShare) -> None:
        await opening.open_to_nodes(s, x[0] + x[1])

    for observer in range(nodes):
        build = built(open_it, observer, ArithmeticShare, nodes, 2)
        setting = Setting(nodes, bits=2)
        assert not tells_apart(build, words([0, 3], [1, 2], [2, 1]), [observer], setting)
        assert tells_apart(build, words([0, 3], [1, 3]), [observer], setting)


def disclosed(told: bool, observer: int, nodes: int) -> Build:
    async def node(s: Session, x: ArithmeticShare) -> None:
        await opening.disclose(s, x[0] + x[1], told=told)

    return built(
        node, observer, ArithmeticShare, nodes, 2, lambda s, n: opening.receive_opened(s, (n,))
    )


@three_and_four
@pytest.mark.parametrize("told", [False, True])
def test_the_coordinator_and_a_node_see_what_is_opened(told: bool, nodes: int) -> None:
    setting = Setting(nodes, bits=2)
    alike, other = words([0, 3], [1, 2], [2, 1]), words([0, 3], [1, 3])
    for node in range(nodes):
        build = disclosed(told, node, nodes)
        assert not tells_apart(build, alike, [COORDINATOR, node], setting)
        assert tells_apart(build, other, [COORDINATOR, node], setting)
        # A node alone sees nothing, unless it is told.
        assert tells_apart(build, other, [node], setting) is told


@three_and_four
def test_the_coordinator_alone_sees_the_value_and_not_how_it_is_split(nodes: int) -> None:
    """Over all ways to split two numbers: the same view for the same sum."""

    def make(secret: Array) -> Callable[[int], Protocol]:
        def on(instances: int) -> Protocol:
            numbers = [
                [
                    np.arange(instances, dtype=np.uint64) // 2**k % 2
                    for k in range(first, first + nodes - 1)
                ]
                for first in (0, nodes - 1)
            ]
            shares = []
            for value, parts in zip(secret, numbers, strict=True):
                last = value - sum(parts)
                whole = [*parts, last & np.uint64(1)]
                shares.append(
                    [
                        ArithmeticShare({c: whole[c] for c in held_by(i, nodes)})
                        for i in range(nodes)
                    ]
                )
            x, y = shares
            return (
                lambda s: opening.disclose(s, x[s.me] + y[s.me]),
                lambda s: opening.receive_opened(s, (instances,)),
            )

        return on

    setting = Setting(nodes, bits=1)

    def look(*secrets: list[int]) -> bool:
        found = [
            views(make(secret), [COORDINATOR], setting, free=2 * (nodes - 1))
            for secret in words(*secrets)
        ]
        return any(each != found[0] for each in found)

    assert not look([0, 1], [1, 0])
    assert look([0, 1], [1, 1])
