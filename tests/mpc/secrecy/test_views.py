"""For two different secrets each party sees the same, message for message, by enumeration.

Every test runs the honest protocol, which must pass, and weakened ones, which must not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tacit.mpc.local import parties
from tacit.mpc.protocols import (
    b2a,
    bit_and,
    less_than,
    multiply,
    opening,
    same,
)
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, NODES, ArithmeticShare, BitShare
from tests.mpc.secrecy.leaks import leaks, seeds, shares_seen_alike
from tests.mpc.secrecy.views import (
    Protocol,
    Script,
    Setting,
    Weaken,
    dropped,
    honest,
    reused,
    views,
)

pytestmark = pytest.mark.slow


def product(shares: list[Any]) -> Protocol:
    n = len(shares[0]) // 2
    return lambda s: multiply.multiply(s, shares[s.me][:n], shares[s.me][n:], label="m"), None


@pytest.mark.parametrize("observer", NODES)
@pytest.mark.parametrize(
    ("secrets", "bits"),
    [
        ([[0, 0], [1, 3], [3, 2], [2, 2]], 2),
        ([[0, 0, 0, 0], [1, 0, 1, 1], [0, 1, 1, 1]], 1),
    ],
    ids=["one", "two"],
)
def test_product(secrets: list[list[int]], bits: int, observer: int) -> None:
    def look(weaken: Weaken) -> bool:
        setting = Setting(bits=bits, weaken=weaken)
        return leaks(
            product, secrets, [observer], ArithmeticShare, ring=bits, setting=setting, reduce=True
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
def test_every_carry_has_a_blind_of_its_own(observer: int) -> None:
    """Over all blinds of the first level alone, what arrives of it takes all values."""
    shares = shares_seen_alike([5], observer, ArithmeticShare, ring=6, seed=1)

    async def node(s: Session) -> None:
        await less_than.compare_batch(s, shares[s.me][:0], shares[s.me], bits=6, label="c")

    async def look() -> tuple[int, int]:
        probe = Script({})
        await parties(node, masks=lambda me: probe)
        blind = ("c.0.zero", (observer + 2) % 3)
        fixed = {
            draw: np.zeros(size, dtype=np.uint64)
            for draw, (_, size) in probe.asked.items()
            if draw != blind
        }
        seen = await views((node, None), [observer], setting=Setting(bits=1, fixed=fixed))
        return len(seen), 1 << 3  # of five planes two pairs combine, to three products

    found, all_values = asyncio.run(look())
    assert found == all_values


@pytest.mark.parametrize("values", [[[0], [1]], [[0, 0], [1, 0]]], ids=["one", "two"])
@pytest.mark.parametrize("observer", [1, 2])
def test_bit_to_arithmetic(observer: int, values: list[list[int]]) -> None:
    def make(shares: list[Any]) -> Protocol:
        return lambda s: b2a.bits_to_arithmetic(s, shares[s.me], label="b"), None

    async def look(weaken: Weaken, seed: int) -> bool:
        setting = Setting(bits=2, weaken=weaken)
        counts = [
            await views(
                make(
                    shares_seen_alike(bits, observer, BitShare, ring=1, seed=seed, dtype=np.uint8)
                ),
                [observer],
                setting=setting,
                ring=2,
                seed=seed,
            )
            for bits in values
        ]
        return counts[0] != counts[1]

    def any_look(weaken: Weaken) -> bool:
        return any(asyncio.run(look(weaken, seed)) for seed in seeds(weaken))

    assert not any_look(honest)
    assert any_look(dropped("b.e"))
    assert any_look(reused("b.g", "b.e"))


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
        run = await parties(
            lambda s: same.check_same_components(s, share[s.me], label="c"), record=True
        )
        return b"".join(p for _, p in run.received[0])

    assert asyncio.run(seen()) != asyncio.run(seen())
