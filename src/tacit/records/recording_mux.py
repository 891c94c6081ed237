"""Record the conversations of a link: hash what leaves, keep what arrives.

The hash goes into the node's log with a salt, the parts into the platform's ledger; together they
show afterwards what was disclosed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from tacit.errors import PeerError
from tacit.mpc import SessionMux, Wire
from tacit.mpc.transport import Buffer, Channel, Frame, Link, NoticeHandler


class ForwardingMux:
    """All that is passed on to the mux unchanged."""

    def __init__(self, mux: SessionMux, /) -> None:
        self._mux = mux

    @property
    def link(self) -> Link:
        return self._mux.link

    def watch(self, channel: Channel, handler: NoticeHandler | None) -> None:
        self._mux.watch(channel, handler)

    async def notify(self, channel: Channel, culprit: int | None, *, timeout: float) -> None:
        await self._mux.notify(channel, culprit, timeout=timeout)

    def finish(self, channel: Channel) -> None:
        self._mux.finish(channel)


def sent_digest(salt: bytes, substreams: Iterable[tuple[int, Iterable[Buffer]]], /) -> str:
    """Hash the substreams that a node sent, each with its number and frames, for its log."""
    return _digest(salt, ((number, _hashed(frames).digest()) for number, frames in substreams))


def _digest(salt: bytes, hashes: Iterable[tuple[int, bytes]]) -> str:
    # The number counts: what was sent as one substream must not pass for another.
    parts = (number.to_bytes(8, "little") + digest for number, digest in hashes)
    return hashlib.sha256(b"".join([b"tacit sent/1\n", salt, *parts])).hexdigest()


def _hashed(frames: Iterable[Buffer]) -> hashlib._Hash:
    whole = hashlib.sha256()
    for frame in frames:
        _add(whole, frame)
    return whole


def _add(whole: hashlib._Hash, frame: Buffer) -> None:
    # With its length, so that two frames never hash like one.
    whole.update(memoryview(frame).nbytes.to_bytes(8, "little"))
    whole.update(frame)


class _RecordedWire:
    """A wire that hashes what goes out and keeps what comes in."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.sent: hashlib._Hash | None = None
        self.received: list[bytes] = []

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        self.sent = self.sent or hashlib.sha256()
        # Hashed before it is sent: what a node logs covers everything that may have left it.
        _add(self.sent, payload)
        await self._wire.send(depth, payload, timeout=timeout)

    async def receive(self, *, timeout: float) -> Frame:
        frame = await self._wire.receive(timeout=timeout)
        self.received.append(bytes(frame.payload))
        return frame

    def fail(self, error: PeerError) -> None:
        self._wire.fail(error)

    def close(self) -> None:
        self._wire.close()


class RecordingMux(ForwardingMux):
    """Stands where the link between node and platform would, and records every substream."""

    def __init__(self, mux: SessionMux) -> None:
        super().__init__(mux)
        self._substreams: dict[int, _RecordedWire] = {}

    def open(self, channel: Channel, *, tag: bytes) -> _RecordedWire:
        opened = _RecordedWire(self._mux.open(channel, tag=tag))
        self._substreams[channel.substream] = opened
        return opened

    def digest(self, salt: bytes, /) -> str:
        """Hash all that was sent, in the order of the substreams."""
        # By their numbers: which one came first depends on the network.
        sent = sorted((k, each.sent) for k, each in self._substreams.items() if each.sent)
        return _digest(salt, ((k, digest.digest()) for k, digest in sent))

    def received(self) -> list[tuple[int, list[bytes]]]:
        """Return what arrived: the number of each substream, with its frames."""
        substreams = sorted((k, each.received) for k, each in self._substreams.items())
        return [(k, frames) for k, frames in substreams if frames]
