"""A network in memory in which one frame, or any, can be changed on its way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tacit.mpc import local
from tacit.mpc.transport.frame import Buffer


@dataclass(frozen=True, slots=True)
class Sent:
    """A frame as it leaves: the `number`-th from its sender to its receiver in a substream."""

    sender: int
    receiver: int
    substream: int
    number: int
    payload: bytes


Tamper = Callable[[Sent], list[Buffer]]
"""What arrives in place of a frame: itself, something else, several, or nothing."""


@contextmanager
def tampered(tamper: Tamper) -> Iterator[list[Sent]]:
    """Change what parties in memory send each other; the list has all that left, in its order."""
    log: list[Sent] = []
    counts: Counter[tuple[int, int, int]] = Counter()

    class TamperedWire(local._NetworkWire):
        def __init__(self, network: local._Network, me: int, peer: int, substream: int) -> None:
            super().__init__(network, me, peer, substream)
            self._at = me, peer, substream

        async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
            frame = Sent(*self._at, counts[self._at], bytes(payload))
            counts[self._at] += 1
            log.append(frame)
            for changed in tamper(frame):
                await super().send(depth, changed, timeout=timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_NetworkWire", TamperedWire)
        yield log
