"""Nodes that send something else than the protocol has them send, in memory and on links."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from tacit.mpc import local
from tacit.mpc.transport.frame import Buffer, Frame, Header, decode
from tacit.mpc.transport.link import MemoryLink
from tacit.mpc.transport.mux import Conversation, Mux


@dataclass(frozen=True, slots=True)
class Sent:
    """A frame as it leaves: the `number`-th from its sender to its receiver in a substream."""

    sender: int
    receiver: int
    substream: int
    number: int
    payload: bytes

    @property
    def at(self) -> tuple[int, int, int, int]:
        """Which frame of a run it is, whatever is in it."""
        return self.sender, self.receiver, self.substream, self.number


Tamper = Callable[[Sent], list[Buffer]]
"""What arrives in place of a frame: itself, something else, several, or nothing."""


@dataclass
class Log:
    """All frames as they left, and how many each receiver had sent when it took them."""

    sent: list[Sent] = field(default_factory=list)
    sent_before_taking: dict[tuple[int, int, int, int], int] = field(default_factory=dict)

    def sent_by(self, party: int) -> int:
        """How many frames a party sent."""
        return sum(frame.sender == party for frame in self.sent)


def untouched(frame: Sent) -> list[Buffer]:
    return [frame.payload]


def instead_of(frame: Sent, *arrives: Buffer) -> Tamper:
    """Something else in place of one frame, or nothing."""
    return lambda sent: list(arrives) if sent.at == frame.at else [sent.payload]


@contextmanager
def tampered(tamper: Tamper = untouched) -> Iterator[Log]:
    """Change what parties in memory send each other."""
    log = Log()
    left: Counter[tuple[int, int, int]] = Counter()
    taken: Counter[tuple[int, int, int]] = Counter()

    class TamperedWire(local._NetworkWire):
        def __init__(self, network: local._Network, me: int, peer: int, substream: int) -> None:
            super().__init__(network, me, peer, substream)
            self._sending, self._taking = (me, peer, substream), (peer, me, substream)

        async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
            frame = Sent(*self._sending, left[self._sending], bytes(payload))
            left[self._sending] += 1
            log.sent.append(frame)
            for changed in tamper(frame):
                await super().send(depth, changed, timeout=timeout)

        async def receive(self, *, timeout: float) -> Frame:
            frame = await super().receive(timeout=timeout)
            number = taken[self._taking]
            taken[self._taking] += 1
            log.sent_before_taking[(*self._taking, number)] = log.sent_by(self._sending[0])
            return frame

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "_NetworkWire", TamperedWire)
        yield log


Lie = Callable[[int, bytes], bytes]
"""What is sent in place of a frame, from its depth and its payload."""


def flipping(byte: int, depth: int) -> Lie:
    """Flip a bit of one byte, in frames of this depth."""

    def lie(at: int, payload: bytes) -> bytes:
        changed = bytearray(payload)
        changed[byte] ^= at == depth
        return bytes(changed)

    return lie


class Left(NamedTuple):
    """A frame that left on a link in memory."""

    sender: str
    receiver: str
    header: Header
    payload: bytes


@contextmanager
def what_leaves() -> Iterator[list[Left]]:
    """All frames that leave on links in memory."""
    left: list[Left] = []
    send = MemoryLink.send

    async def noted(self: MemoryLink, header: bytes, payload: Buffer, *, timeout: float) -> None:
        sender = self._other._peer if self._other else ""
        left.append(Left(sender, self.peer, decode(header, peer=self.peer), bytes(payload)))
        await send(self, header, payload, timeout=timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryLink, "send", noted)
        yield left


class _LyingTalk:
    def __init__(self, talk: Conversation, lie: Lie) -> None:
        self._talk, self._lie = talk, lie

    def __getattr__(self, name: str) -> Any:
        return getattr(self._talk, name)

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        await self._talk.send(depth, self._lie(depth, bytes(payload)), timeout=timeout)


class LyingMux:
    """A `Mux` that changes what is sent through its conversations."""

    def __init__(self, mux: Mux, lie: Lie) -> None:
        self._mux, self._lie = mux, lie

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mux, name)

    def open(self, *args: Any, **options: Any) -> _LyingTalk:
        return _LyingTalk(self._mux.open(*args, **options), self._lie)


def lying(muxes: dict[int, Mux], to: int, lie: Lie) -> dict[int, Any]:
    """The links of a node that lies to one other."""
    return {**muxes, to: LyingMux(muxes[to], lie)}
