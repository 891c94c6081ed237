"""What parties see, by enumerating every mask that they do not know.

An observer is fixed with all it holds: its shares and whatever it draws from its own two keys.
Every value of the masks and permutations from the third key is tried, and the messages that
arrive are counted. A protocol is secret if the counts do not depend on the secret.

Arithmetic modulo 2^64 taken modulo 2^k is arithmetic modulo 2^k, so with masks below 2^k and
messages reduced modulo 2^k this is the same protocol on the tiny ring of k bits, exactly.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.mpc.local import Party, parties
from tacit.mpc.ring import Words
from tacit.mpc.shares import COORDINATOR

Draw = tuple[str, int]
Weaken = Callable[[str, int], str | None]


def honest(label: str, component: int) -> str | None:
    return label


def dropped(name: str) -> Weaken:
    """A protocol that forgot the masks whose label ends so."""
    return lambda label, component: None if label.endswith(name) else label


def reused(name: str, source: str) -> Weaken:
    """A protocol that takes one label's masks for another's too."""
    return lambda label, component: label[: -len(name)] + source if label.endswith(name) else label


@dataclass
class Script:
    """Masks from a table; what the table lacks is noted, and is zero or the identity."""

    table: Mapping[Draw, NDArray[Any]]
    weaken: Weaken = honest
    asked: dict[Draw, tuple[str, int]] = field(default_factory=dict)

    def words(self, label: str, component: int, count: int) -> Words:
        name = self.weaken(label, component)
        if name is None:
            return np.zeros(count, dtype=np.uint64)
        self.asked[name, component] = ("words", count)
        found = self.table.get((name, component))
        return np.zeros(count, dtype=np.uint64) if found is None else found[:count]

    def permutation(self, label: str, component: int, size: int) -> NDArray[np.intp]:
        self.asked[label, component] = ("permutation", size)
        found = self.table.get((label, component))
        return np.arange(size) if found is None else found


@dataclass(frozen=True)
class Setting:
    """A protocol to look at: how many bits masks have, and where in a word these bits are."""

    bits: int = 1
    lanes: Sequence[int] = (0,)
    fixed: Mapping[Draw, NDArray[Any]] = field(default_factory=dict)
    weaken: Weaken = honest

    def values(self, what: str, size: int) -> Iterator[NDArray[Any]]:
        """Everything that one draw can give."""
        if what == "permutation":
            for order in itertools.permutations(range(size)):
                yield np.array(order, dtype=np.intp)
            return
        choices = range(1 << self.bits)
        for picked in itertools.product(choices, repeat=size * len(self.lanes)):
            parts = np.array(picked, dtype=np.uint64).reshape(size, len(self.lanes))
            yield (parts << np.array(self.lanes, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)

    def random(self, what: str, size: int, rng: np.random.Generator) -> NDArray[Any]:
        if what == "permutation":
            return rng.permutation(size)
        parts = rng.integers(0, 1 << self.bits, (size, len(self.lanes)), dtype=np.uint64)
        words: Words = (parts << np.array(self.lanes, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)
        return words


Protocol = tuple[Party[Any], Party[Any] | None]
View = tuple[tuple[int, bytes], ...]


def _reduced(payload: bytes, ring: int | None) -> bytes:
    if ring is None:
        return payload
    words = np.frombuffer(payload, dtype=np.uint64) & np.uint64((1 << ring) - 1)
    return words.tobytes()


async def views(
    protocol: Protocol,
    observers: Sequence[int],
    *,
    setting: Setting,
    ring: int | None = None,
    seed: int = 0,
) -> Counter[View]:
    """How often each view of the observers occurs over all masks that they do not know."""
    node, coordinator = protocol
    probe = Script(dict(setting.fixed), setting.weaken)
    await parties(node, coordinator, masks=lambda me: probe)
    held = {c for o in observers if o != COORDINATOR for c in (o, (o + 1) % 3)}
    rng = np.random.default_rng(seed)
    table: dict[Draw, NDArray[Any]] = {}
    unknown: list[tuple[Draw, tuple[str, int]]] = []
    for draw, (what, size) in sorted(probe.asked.items()):
        if draw in setting.fixed:
            table[draw] = setting.fixed[draw]
        elif draw[1] in held:
            table[draw] = setting.random(what, size, rng)
        else:
            unknown.append((draw, (what, size)))
    counts: Counter[View] = Counter()
    for values in itertools.product(*(list(setting.values(*spec)) for _, spec in unknown)):
        table.update(zip((draw for draw, _ in unknown), values, strict=True))
        script = Script(table, setting.weaken)
        run = await parties(node, coordinator, masks=lambda me, s=script: s, record=True)  # type: ignore[misc]
        seen = [(peer, p) for o in observers for peer, p in run.received[o]]
        counts[tuple((peer, _reduced(payload, ring)) for peer, payload in seen)] += 1
    return counts
