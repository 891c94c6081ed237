"""Views of parties, by enumerating every mask that they do not know.

An observer is fixed with all it holds: its shares and whatever it draws from its own keys. Every
value of the masks and permutations from the keys that it lacks is tried, and the letters that
arrive are counted. A protocol is secret if the counts do not depend on the secret. What else a
frame has, the hashes of other senders' pieces, is a function of the letters.

All values are tried in one run: protocols work on many entries, or on many bits of a plane, in the
same way, so each entry is an instance with masks of its own. Arithmetic modulo 2^64 taken modulo
2^k is arithmetic modulo 2^k, so with masks below 2^k and letters reduced modulo 2^k this is the
same protocol on the tiny ring of k bits, exactly.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.local import Party, parties
from tacit.mpc.ring import Words
from tacit.mpc.shares import COORDINATOR, Share, held_by
from tests.mpc.secrecy.letters_seen import letters_seen

Draw = tuple[str, int]
"""The label and the component of masks."""
Slot = tuple[str, int, int]
"""A draw, and which of the numbers that an instance has of it."""
Array = NDArray[Any]
Protocol = tuple[Party[Any], Party[Any] | None]
LEAST = 64
"""Instances of which a plane has whole words."""


@dataclass(frozen=True)
class Setting:
    """The tiny ring, how instances lie in arrays, and what is weakened."""

    nodes: int
    bits: int = 1
    packed: bool = False
    """Whether an instance is a bit of a plane; otherwise it is an entry of the last axis."""
    dtype: Any = np.uint64
    zero: frozenset[Slot] = frozenset()
    """Masks that were forgotten."""


@dataclass
class _Masks:
    """Masks for all instances at once: from digits of their numbers, or the same for all."""

    setting: Setting
    instances: int
    digits: Mapping[Slot, int]
    orders: Mapping[Draw, Array]
    rng_seed: int
    slots: dict[Draw, int] = field(default_factory=dict)
    sizes: dict[Draw, int] = field(default_factory=dict)

    def words(self, label: str, component: int, count: int) -> Words:
        setting, n = self.setting, self.instances
        item = 1 if setting.packed else 8 * np.dtype(setting.dtype).itemsize
        slots = 64 * count // (item * n)
        self.slots[label, component] = slots
        base = 1 << setting.bits
        rng = np.random.default_rng([self.rng_seed, component, *label.encode()])
        made = np.empty((slots, n), dtype=setting.dtype)
        for slot, known in enumerate(rng.integers(0, base, slots)):
            digit = self.digits.get((label, component, slot))
            if (label, component, slot) in setting.zero:
                made[slot] = 0
            elif digit is None:
                made[slot] = known
            else:
                made[slot] = np.arange(n) // base**digit % base
        return _packed(made) if setting.packed else made.reshape(-1).view(np.uint64)

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        self.sizes[label, component] = size
        found: Array = self.orders.get((label, component), np.arange(size))
        return found


def _packed(bits: Array) -> Words:
    words: Words = np.packbits(bits.astype(np.uint8), axis=1, bitorder="little").view(np.uint64)
    return words.reshape(-1)


def _columns(letter: Array, setting: Setting, ring: int | None) -> NDArray[np.uint8]:
    """A letter with a column of bytes per instance."""
    if setting.packed:
        planes = np.ascontiguousarray(letter).reshape(-1, letter.shape[-1]).view(np.uint8)
        return np.unpackbits(planes, axis=1, bitorder="little")
    rows = letter.reshape(-1, letter.shape[-1])
    low: NDArray[np.uint8] = (rows & rows.dtype.type((1 << (ring or setting.bits)) - 1)).astype(
        np.uint8
    )
    return low


def _observe(protocol: Protocol, setting: Setting, masks: _Masks) -> dict[int, list[Array]]:
    """The letters that arrive at each party."""
    node, coordinator = protocol
    with letters_seen() as seen:
        asyncio.run(parties(node, coordinator, nodes=setting.nodes, masks=lambda _: masks))
    return seen


def _counted(columns: NDArray[np.uint8], width: int) -> bytes:
    """Which columns there are, and how often."""
    assert len(columns) * width < 64, "a view does not fit a word"
    whole = np.zeros(columns.shape[1], dtype=np.uint64)
    for row in columns:
        whole = whole << np.uint64(width) | row
    found, often = np.unique(whole, return_counts=True)
    return found.tobytes() + b"|" + often.tobytes()


Make = Callable[[int], Protocol]
"""The protocol on as many instances."""


def draws_of(make: Make, setting: Setting) -> tuple[dict[Draw, int], dict[Draw, int]]:
    """The masks that a protocol draws, with their slots, and the permutations with their sizes."""
    masks = _Masks(setting, LEAST, {}, {}, 0)
    _observe(make(LEAST), setting, masks)
    return masks.slots, masks.sizes


def views(
    make: Make,
    observers: Sequence[int],
    setting: Setting,
    *,
    ring: int | None = None,
    seed: int = 0,
    orders: Mapping[Draw, Array] | None = None,
    free: int = 0,
    drawn: tuple[dict[Draw, int], dict[Draw, int]] | None = None,
) -> dict[tuple[Any, ...], bytes]:
    """How often each view of the observers occurs, for each order that they do not know.

    `orders` are fixed. `free` is the number of digits that the instances have for something else.
    """
    slots, sizes = drawn or draws_of(make, setting)
    held = {c for o in observers if o != COORDINATOR for c in held_by(o, setting.nodes)}
    unknown = [
        (label, c, slot)
        for (label, c), count in sorted(slots.items())
        if c not in held
        for slot in range(count)
        if (label, c, slot) not in setting.zero
    ]
    instances = max(LEAST, 1 << setting.bits * (free + len(unknown)))
    digits = {slot: free + at for at, slot in enumerate(unknown)}
    rng = np.random.default_rng(seed)
    known: dict[Draw, Array] = {d: rng.permutation(size) for d, size in sorted(sizes.items())}
    known.update(orders or {})
    hidden = [draw for draw in sorted(sizes) if draw[1] not in held and draw not in (orders or {})]
    counts = {}
    for chosen in itertools.product(*(itertools.permutations(range(sizes[d])) for d in hidden)):
        these = dict(zip(hidden, map(np.array, chosen), strict=True))
        masks = _Masks(setting, instances, digits, {**known, **these}, seed)
        seen = _observe(make(instances), setting, masks)
        letters = [_columns(each, setting, ring) for o in observers for each in seen[o]]
        width = 1 if setting.packed else ring or setting.bits
        counts[chosen] = _counted(
            np.concatenate([np.zeros((1, instances), np.uint8), *letters]), width
        )
    return counts


def seen_alike(
    secret: Array, observer: int, kind: type[Share], *, nodes: int, ring: int, seed: int
) -> list[Any]:
    """Shares of which the observer's own components are the same whatever the secret is."""
    rng = np.random.default_rng(seed + 10)
    mask = secret.dtype.type((1 << ring) - 1)
    parts: dict[int, Any] = {
        c: rng.integers(0, 1 << ring, secret.shape).astype(secret.dtype)
        for c in sorted(held_by(observer, nodes))
    }
    rest = secret
    for part in parts.values():
        rest = kind.minus(rest, part)
    parts[observer] = rest & mask
    return [kind({c: parts[c] for c in held_by(i, nodes)}) for i in range(nodes)]


def spread(shares: list[Any], instances: int) -> list[Any]:
    """The same shares for every instance, along a new last axis."""

    def wide(part: Array) -> Array:
        return np.ascontiguousarray(np.broadcast_to(part[..., None], (*part.shape, instances)))

    return [share.map(wide) for share in shares]


Look = Callable[[frozenset[Slot], int], bool]
"""Whether something leaks, with some masks forgotten, and with an observer's seed."""


def unnoticed(look: Look, slots: Iterable[Slot], *, seeds: int = 6) -> list[Slot]:
    """Masks without which nothing is noticed: protocols that need none of them."""
    return [
        slot for slot in slots if not any(look(frozenset({slot}), seed) for seed in range(seeds))
    ]


def tells_apart(
    build: Callable[[Array, int], Callable[[int], Protocol]],
    secrets: Sequence[Array],
    observers: Sequence[int],
    setting: Setting,
    *,
    ring: int | None = None,
    seed: int = 0,
    drawn: tuple[dict[Draw, int], dict[Draw, int]] | None = None,
) -> bool:
    """Whether the view distinguishes secrets, or depends on an order that the observers lack."""
    drawn = drawn or draws_of(build(secrets[0], seed), setting)
    found: set[bytes] = set()
    for secret in secrets:
        make = build(secret, seed)
        seen = views(make, observers, setting, ring=ring, seed=seed, drawn=drawn)
        found |= set(seen.values())
        if len(found) > 1:
            return True
    return False


def check_masks(
    build: Callable[[Array, int], Callable[[int], Protocol]],
    secrets: Sequence[Array],
    setting: Setting,
    observer: int,
    *,
    ring: int | None = None,
    seeds: int = 6,
    looks: int = 2,
    joined: Sequence[int] = (),
    spare: Callable[[Slot], bool] = lambda _: False,
) -> list[Slot]:
    """Check that nothing leaks; the masks against this observer that could be left out unnoticed.

    `spare` says which are known to be such, or are looked at elsewhere.
    """
    watching = [*joined, observer]

    drawn = draws_of(build(secrets[0], 0), setting)

    def look(zero: frozenset[Slot], seed: int) -> bool:
        now = replace(setting, zero=zero)
        return tells_apart(build, secrets, watching, now, ring=ring, seed=seed, drawn=drawn)

    assert not any(look(frozenset(), seed) for seed in range(looks))
    slots, _ = drawn
    own = [
        (label, c, slot)
        for (label, c), count in slots.items()
        if c == observer
        for slot in range(count)
        if not spare((label, c, slot))
    ]
    return unnoticed(look, own, seeds=seeds)
