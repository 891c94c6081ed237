"""What the nodes sent to the coordinator once, received again from a record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from tacit.errors import AbortError, PeerError
from tacit.mpc.session import Session
from tacit.mpc.shares import COORDINATOR, party_name
from tacit.mpc.transport.frame import Buffer, Channel, Frame, Header

T = TypeVar("T")
Substreams = Mapping[int, Sequence[bytes]]
"""What a node sent to the coordinator: the frames of each substream."""


class _Kept:
    """A substream that arrived before."""

    def __init__(self, frames: Iterable[bytes], peer: str) -> None:
        self._frames: Iterator[bytes] = iter(frames)
        self._peer = peer

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Nobody listens."""

    async def receive(self, *, timeout: float) -> Frame:  # noqa: ARG002 - as wires have it
        """The next frame of the record."""
        for data in self._frames:
            return Frame(Header(Channel(bytes(16)), bytes(8), 1, 0, len(data)), data)
        raise AbortError(self._peer, "sent less than this, says the record")

    def fail(self, error: PeerError) -> None:
        """Nobody waits."""

    def close(self) -> None:
        """Nothing is open."""


def receive_again(parts: Sequence[Substreams], receive: Callable[[Session], Awaitable[T]], /) -> T:
    """What the coordinator's side of a protocol makes of what each node sent; not inside a loop.

    >>> import hashlib
    >>> from tacit.mpc.protocols.opening import receive_opened
    >>> words = [(2).to_bytes(8, "little"), b"", (3).to_bytes(8, "little")]
    >>> hashes = [hashlib.sha256(word).digest() for word in words]
    >>> parts = [{0: [hashes[0]]}, {0: [words[0] + hashes[1]]}, {0: [words[2]]}]
    >>> receive_again(parts, lambda session: receive_opened(session, 1))
    array([5], dtype=uint64)
    """

    def wire(peer: int, substream: int) -> _Kept:
        return _Kept(parts[peer].get(substream, []), party_name(peer))

    async def run() -> T:
        return await receive(Session(COORDINATOR, nodes=len(parts), masks=None, wire=wire))

    return asyncio.run(run())
