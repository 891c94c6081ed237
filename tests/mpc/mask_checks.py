"""Masks in tests: every stream that is drawn, real ones computed once, and fair bits."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.mpc.masks import KeyedMasks, expand
from tacit.mpc.ring import Words


@dataclass
class MasksDrawn:
    """Draws by the key and counter of the cipher, which say which stream it is."""

    draws: Counter[tuple[Hashable, str]] = field(default_factory=Counter)
    """How often each party has drawn a stream."""
    purposes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """What each stream was drawn for, by whomever."""

    def add(self, who: Hashable, stream: str, purpose: str, /) -> None:
        """Somebody has drawn a stream."""
        self.draws[who, stream] += 1
        self.purposes[stream].add(purpose)

    def repeated(self) -> int:
        """How many streams were drawn twice by one party, or for two purposes."""
        twice = {stream for (_, stream), often in self.draws.items() if often > 1}
        return len(twice | {s for s, purposes in self.purposes.items() if len(purposes) > 1})


def recorded(draw: Callable[..., Any], note: Callable[[KeyedMasks, str, str], None]) -> Any:
    """A `KeyedMasks.words` that notes the stream and its label before it draws."""

    def words(self: KeyedMasks, label: str, component: int, count: int) -> Any:
        # All that the cipher's key and first counter are made of.
        stream = expand(self._keys[component], b"words|" + label.encode())
        note(self, hashlib.sha256(stream).hexdigest(), f"{label}|{component}")
        return draw(self, label, component, count)

    return words


@lru_cache(maxsize=4096)
def _words(key: bytes, label: str, component: int, count: int) -> Words:
    return KeyedMasks({component: key}).words(label, component, count)


class RememberedMasks(KeyedMasks):
    """The production source; a node that lacks a component's key can draw nothing of it."""

    def words(self, label: str, component: int, count: int) -> Words:
        return _words(self._keys[component], label, component, count)


LIKELY = 5
"""Standard deviations; what lies beyond is not chance."""


def check_every_bit_is_fair(samples: Iterable[bytes]) -> None:
    """Each bit is 1 in about half of the samples."""
    bits = np.array([np.unpackbits(np.frombuffer(each, dtype=np.uint8)) for each in samples])
    deviation = abs(bits.mean(axis=0) - 0.5) * 2 * np.sqrt(len(bits))
    assert deviation.max() < LIKELY
