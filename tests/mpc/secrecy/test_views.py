"""For two different secrets each party sees the same, message for message, by enumeration.

Every test runs the honest protocol, which must pass, and weakened ones, which must not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tacit.mpc.local import trio
from tacit.mpc.protocols import (
    a2b,
    b2a,
    bit_and,
    labels,
    less_than,
    multiply,
    opening,
    same,
    shuffle,
)
from tacit.mpc.protocols.shuffle import Order, draw_order
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, NODES, ArithmeticShare, BitShare, Share
from tests.mpc.secrecy.views import Protocol, Setting, Weaken, dropped, honest, reused, views

Make = Callable[[list[Any]], Protocol]


def seeds(weaken: Weaken) -> range:
    """How often the observer's own shares and masks are drawn anew; a leak may need some luck."""
    return range(2) if weaken is honest else range(6)


def shares_seen_alike(
    secret: Sequence[int],
    observer: int,
    kind: type[Share],
    *,
    ring: int,
    seed: int,
    dtype: Any = np.uint64,
) -> list[Any]:
    """Shares of which the observer's own part is the same whatever the secret is."""
    rng = np.random.default_rng(seed + 10)
    shape = len(secret)
    parts: dict[int, Any] = {
        c: rng.integers(0, 1 << ring, shape, dtype=dtype) for c in (observer, (observer + 1) % 3)
    }
    held = list(parts.values())
    value = np.array(secret, dtype=dtype)
    missing = value ^ held[0] ^ held[1] if kind is BitShare else value - held[0] - held[1]
    parts[(observer + 2) % 3] = missing & np.array((1 << ring) - 1, dtype=dtype)
    return [kind(parts[i], parts[(i + 1) % 3]) for i in NODES]


def leaks(
    make: Make,
    secrets: Sequence[Sequence[int]],
    observers: Sequence[int],
    kind: type[Share],
    *,
    ring: int,
    setting: Setting,
    reduce: bool,
) -> bool:
    """Whether the observers' view tells the secrets apart, for some of their own randomness."""
    node = next(o for o in observers if o != COORDINATOR)

    async def look(seed: int) -> bool:
        counts = [
            await views(
                make(shares_seen_alike(secret, node, kind, ring=ring, seed=seed)),
                observers,
                setting=setting,
                ring=ring if reduce else None,
                seed=seed,
            )
            for secret in secrets
        ]
        return any(c != counts[0] for c in counts[1:])

    return any(asyncio.run(look(seed)) for seed in seeds(setting.weaken))


def product(shares: list[Any]) -> Protocol:
    return lambda s: multiply.multiply(s, shares[s.me][:1], shares[s.me][1:], label="m"), None


@pytest.mark.parametrize("observer", NODES)
def test_product(observer: int) -> None:
    secrets = [[0, 0], [1, 3], [3, 2], [2, 2]]

    def look(weaken: Weaken) -> bool:
        setting = Setting(bits=2, weaken=weaken)
        return leaks(
            product, secrets, [observer], ArithmeticShare, ring=2, setting=setting, reduce=True
        )

    assert not look(honest)
    assert look(dropped("m.zero"))


@pytest.mark.parametrize("observer", NODES)
def test_and(observer: int) -> None:
    def make(shares: list[Any]) -> Protocol:
        return lambda s: bit_and.and_bits(s, shares[s.me][:2], shares[s.me][2:], label="a"), None

    def look(weaken: Weaken) -> bool:
        secrets = [[0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]]
        setting = Setting(bits=1, weaken=weaken)
        return leaks(make, secrets, [observer], BitShare, ring=1, setting=setting, reduce=False)

    assert not look(honest)
    assert look(dropped("a.zero"))


@pytest.mark.parametrize("observer", NODES)
@pytest.mark.parametrize("bits", [3, 4])
def test_comparison_with_kept_sign(observer: int, bits: int) -> None:
    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> None:
            x = shares[s.me]
            await less_than.compare_batch(s, x[:0], x, bits=bits, label="c")

        return node, None

    half = 1 << bits - 1

    def look(weaken: Weaken) -> bool:
        secrets = [[1], [half - 1], [half]]
        setting = Setting(bits=1, weaken=weaken)
        return leaks(
            make, secrets, [observer], ArithmeticShare, ring=bits, setting=setting, reduce=False
        )

    assert not look(honest)
    if observer:  # node 0 receives nothing in the first round
        assert look(dropped("c.u"))
        assert look(dropped("c.g"))
        assert look(reused("c.g", "c.u"))
    assert look(dropped("c.last"))
    if bits == 4:
        assert look(dropped("c.0.zero"))


@pytest.mark.parametrize("observer", NODES)
def test_comparison_with_opened_sign(observer: int) -> None:
    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> None:
            x = shares[s.me]
            await less_than.compare_batch(s, x, x[:0], bits=4, label="c")

        return node, None

    def look(secrets: Sequence[Sequence[int]], weaken: Weaken = honest) -> bool:
        setting = Setting(bits=1, weaken=weaken)
        return leaks(
            make, secrets, [observer], ArithmeticShare, ring=4, setting=setting, reduce=False
        )

    positive, negative = [[0], [7]], [[8], [13]]
    assert not look(positive)
    assert not look(negative)
    assert look([positive[0], negative[0]])  # the sign itself is what they learn
    assert look(positive, dropped("c.last"))
    assert look(positive, dropped("c.0.zero"))


@pytest.mark.parametrize("observer", NODES)
def test_bits_of_numbers(observer: int) -> None:
    def make(shares: list[Any]) -> Protocol:
        return lambda s: a2b.arithmetic_to_bits(s, shares[s.me], bits=3, label="b"), None

    def look(weaken: Weaken) -> bool:
        setting = Setting(bits=1, weaken=weaken)
        secrets = [[0], [3], [7]]
        return leaks(
            make, secrets, [observer], ArithmeticShare, ring=3, setting=setting, reduce=False
        )

    assert not look(honest)
    assert look(dropped("b.0.zero"))
    if observer:
        assert look(dropped("b.g"))


@pytest.mark.parametrize("observer", [1, 2])
def test_bit_to_arithmetic(observer: int) -> None:
    def make(shares: list[Any]) -> Protocol:
        return lambda s: b2a.bits_to_arithmetic(s, shares[s.me], label="b"), None

    async def look(weaken: Weaken, seed: int) -> bool:
        setting = Setting(bits=2, weaken=weaken)
        counts = [
            await views(
                make(
                    shares_seen_alike([bit], observer, BitShare, ring=1, seed=seed, dtype=np.uint8)
                ),
                [observer],
                setting=setting,
                ring=2,
                seed=seed,
            )
            for bit in (0, 1)
        ]
        return counts[0] != counts[1]

    def any_look(weaken: Weaken) -> bool:
        return any(asyncio.run(look(weaken, seed)) for seed in seeds(weaken))

    assert not any_look(honest)
    assert any_look(dropped("b.e"))
    assert any_look(reused("b.g", "b.e"))


def shuffled(back: bool) -> Make:
    def make(shares: list[Any]) -> Protocol:
        async def node(s: Session) -> None:
            order = draw_order(s, 2, label="o")
            run = shuffle.unshuffle if back else shuffle.shuffle
            await run(s, shares[s.me], order, label="s")

        return node, None

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
    assert look(dropped("s.A" if observer == 1 else "s.B"))
    assert look(reused("s.A", "s.Z") if observer == 1 else reused("s.B", "s.Z"))


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


@pytest.mark.parametrize("node", NODES)
def test_opening_to_the_coordinator_shows_it_no_components(node: int) -> None:
    """With one node it sees the value; how the rest is split stays hidden, which z is for."""

    def make(shares: list[Any]) -> Protocol:
        return (
            lambda s: opening.open_to_coordinator(s, shares[s.me], label="v"),
            lambda s: opening.receive_opened(s, 1),
        )

    async def coordinator(weaken: Weaken) -> bool:
        counts = []
        for parts in ([0, 1, 2], [3, 3, 1], [2, 0, 1]):
            arrays = [np.array([p], dtype=np.uint64) for p in parts]
            shares = [ArithmeticShare(arrays[i], arrays[(i + 1) % 3]) for i in NODES]
            setting = Setting(bits=2, weaken=weaken)
            counts.append(await views(make(shares), [COORDINATOR], setting=setting, ring=2))
        return any(c != counts[0] for c in counts)

    assert not asyncio.run(coordinator(honest))
    assert asyncio.run(coordinator(dropped("v.z")))
    setting = Setting(bits=2)
    shared = {"ring": 2, "setting": setting, "reduce": True}
    secrets = [[0], [1], [3]]
    assert not leaks(make, secrets, [node], ArithmeticShare, **shared)  # type: ignore[arg-type]
    assert leaks(make, secrets, [COORDINATOR, node], ArithmeticShare, **shared)  # type: ignore[arg-type]


def test_hashes_of_components_are_keyed() -> None:
    """Two runs of the same secret show different hashes, so nobody can guess and compare."""
    share = [ArithmeticShare(np.zeros(1, np.uint64), np.zeros(1, np.uint64)) for _ in NODES]

    async def seen() -> bytes:
        run = await trio(
            lambda s: same.check_same_components(s, share[s.me], label="c"), record=True
        )
        return b"".join(p for _, p in run.received[0])

    assert asyncio.run(seen()) != asyncio.run(seen())


def test_an_order_needs_all_three_permutations() -> None:
    order = Order({0: np.array([1, 0]), 1: np.array([0, 1])})
    with pytest.raises(KeyError):
        order.apply(2, np.array([1, 2]), back=False)
