"""Real masks that are computed once for all nodes and all runs of a test.

Tests of views run a protocol dozens of times. All keys but one are the same in every run, and all
nodes but one draw the same words, so nearly every draw was made before.
"""

from __future__ import annotations

from functools import lru_cache

from tacit.mpc.masks import KeyedMasks
from tacit.mpc.ring import Words


@lru_cache(maxsize=4096)
def _words(key: bytes, label: str, component: int, count: int) -> Words:
    return KeyedMasks({component: key}).words(label, component, count)


class RememberedMasks(KeyedMasks):
    """The production source; a node that lacks a component's key can draw nothing of it."""

    def words(self, label: str, component: int, count: int) -> Words:
        return _words(self._keys[component], label, component, count)
