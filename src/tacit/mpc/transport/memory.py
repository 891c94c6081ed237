"""Links inside one process, for tests and for simulating three nodes in one."""

from __future__ import annotations

from tacit.errors import FrameError, PeerLostError
from tacit.mpc.transport.frame import FRAME_LIMIT, Buffer, Frame, decode
from tacit.mpc.transport.inbox import Inbox


class MemoryLink:
    """One end of a link in memory; `memory_pair` makes both."""

    def __init__(self, peer: str, *, limit: int = FRAME_LIMIT) -> None:
        self._peer = peer
        self._limit = limit
        self._inbox = Inbox(peer)
        self._other: MemoryLink | None = None
        self._closed = False

    @property
    def peer(self) -> str:
        """The name of the other side."""
        return self._peer

    def join(self, other: MemoryLink) -> None:
        """Connect two ends to one link."""
        self._other, other._other = other, self

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:  # noqa: ARG002
        """Put the frame into the other end's inbox, which checks it as a socket would."""
        if self._closed or self._other is None:
            raise PeerLostError(self._peer, "the link is closed; connect again")
        self._other._arrive(header, payload)

    def _arrive(self, header: bytes, payload: Buffer) -> None:
        if self._closed or self._inbox.failure is not None:
            return
        try:
            decoded = decode(header, peer=self._peer, limit=self._limit)
            size = memoryview(payload).nbytes
            if size != decoded.length:
                raise FrameError(self._peer, f"announced {decoded.length} bytes and sent {size}")
        except FrameError as error:
            self._inbox.fail(error)
            self._shut()
            return
        self._inbox.put(Frame(decoded, payload))

    def _shut(self) -> None:
        self._closed = True
        self._inbox.fail(PeerLostError(self._peer, "the link is closed; connect again"))
        if self._other is not None and not self._other._closed:
            self._other._closed = True
            gone = PeerLostError(self._other._peer, "closed the link; check that it still runs")
            self._other._inbox.fail(gone)

    async def receive(self, *, timeout: float | None) -> Frame:
        """The next frame of the other end."""
        return await self._inbox.get(timeout=timeout)

    async def close(self) -> None:
        """End the link on both sides."""
        self._shut()


def memory_pair(
    first: str, second: str, *, limit: int = FRAME_LIMIT
) -> tuple[MemoryLink, MemoryLink]:
    """Both ends of a link between two named parties; the first end belongs to `first`."""
    here, there = MemoryLink(second, limit=limit), MemoryLink(first, limit=limit)
    here.join(there)
    return here, there
