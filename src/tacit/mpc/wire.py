"""One substream's way to one peer, as sessions use it."""

from __future__ import annotations

from typing import Protocol

from tacit.errors import PeerError
from tacit.mpc.transport.frame import Buffer, Frame


class Wire(Protocol):
    """One substream's way to one peer; a `Conversation` of a `Mux` is one."""

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Send a message."""
        ...

    async def receive(self, *, timeout: float) -> Frame:
        """Wait for the next message."""
        ...

    def fail(self, error: PeerError) -> None:
        """Raise this error in the receiver that waits for a message."""
        ...

    def close(self) -> None:
        """No more messages."""
        ...
