"""The one interface of all transports: an ordered two-way stream of frames to one peer.

Three implementations pass the same conformance suite: `MemoryLink` inside a process, `TlsLink`
over TCP, and `FaultyLink`, which wraps another and makes it slow or faulty.
"""

from __future__ import annotations

from typing import Protocol

from tacit.mpc.transport.frame import Buffer, Frame


class Link(Protocol):
    """Frames go in on one side and come out on the other in the same order, or not at all.

    `send` and `receive` raise `PeerTimeoutError` after `timeout` seconds and `PeerLostError` when
    the link is closed, here or there. Frames that arrived before the loss are still delivered.
    `receive` raises `FrameError` on a malformed frame and closes the link. The payload must not be
    changed after it was given to `send`: it is not copied.
    """

    @property
    def peer(self) -> str:
        """The name of the other side, as used in errors."""
        ...

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:
        """Hand a frame over for delivery; returns before it has arrived."""
        ...

    async def receive(self, *, timeout: float | None) -> Frame:
        """The next frame; `None` waits for as long as the link is open."""
        ...

    async def close(self) -> None:
        """End the link on both sides; a second call does nothing."""
        ...
