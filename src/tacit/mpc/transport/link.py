"""The interface of all links, the inbox that each has, and two of them: in memory, and faulty.

Three implementations pass the same conformance suite: `MemoryLink` inside a process, `TlsLink`
over TCP (`tls`), and `FaultyLink`, which wraps another and makes it slow or faulty.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tacit.errors import FrameError, LinkClosedError, PeerError, PeerLostError, PeerTimeoutError
from tacit.mpc.transport.frame import FRAME_LIMIT, Buffer, Frame, decode


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


_OVERHEAD = 512  # bytes that a frame takes beside its payload, so that empty ones count too


def kept_bytes(frame: Frame, /) -> int:
    """The memory that an unread frame takes."""
    return frame.header.length + _OVERHEAD


TURN_SECONDS = 0.002
"""So long a receiver handles frames that are ready before others run."""


FEW = 8
"""So many frames in a row are handled in any case."""


class Inbox:
    """Frames from one peer in order, then the error that ended the link.

    >>> inbox = Inbox("node 1")
    >>> inbox.fail(PeerError("node 1", "went away"))
    >>> asyncio.run(inbox.get(timeout=1))
    Traceback (most recent call last):
    tacit.errors.PeerError: node 1: went away
    """

    def __init__(self, peer: str, *, taken: Callable[[int], None] | None = None) -> None:
        """`taken` is called with the bytes of each frame that was read."""
        self.peer = peer
        self._taken = taken
        self.pending = 0
        self.failure: PeerError | None = None
        self._frames: deque[Frame] = deque()
        self._waiter: asyncio.Future[bool] | None = None
        self._in_a_row, self._turn_began = 0, 0.0

    def put(self, frame: Frame) -> None:
        self._frames.append(frame)
        self.pending += kept_bytes(frame)
        self._wake()

    def fail(self, error: PeerError) -> None:
        """End the queue with an error; the first error counts."""
        if self.failure is None:
            self.failure = error
        self._wake()

    def detach(self) -> int:
        """Count no longer what is read, and return the bytes that are unread."""
        self._taken = None
        return self.pending

    def _wake(self, is_late: bool = False) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_late)

    def _is_turn_over(self) -> bool:
        """Whether several frames in a row were ready, and handling them took long."""
        if not self._frames:
            self._in_a_row = 0
            return False
        if not self._in_a_row:
            self._turn_began = time.monotonic()
        self._in_a_row += 1
        # A session reads few in a row. If it stopped after each of its long steps, those of several
        # sessions would hold their memory at the same time.
        if self._in_a_row <= FEW or time.monotonic() - self._turn_began <= TURN_SECONDS:
            return False
        self._in_a_row = 0
        return True

    async def get(self, *, timeout: float | None) -> Frame:
        """The next frame, the error that ended the queue, or `PeerTimeoutError`.

        Where frames are always ready, others run after every `TURN_SECONDS`.
        """
        is_late = False
        if self._is_turn_over():
            # Without this a peer that sends faster than its frames are handled stops the loop.
            await asyncio.sleep(0)
        if not self._frames and self.failure is None:
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            # A timer of its own: there is one for every frame, and `asyncio.timeout` takes longer.
            timer = None if timeout is None else loop.call_later(timeout, self._wake, True)
            try:
                is_late = await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()
        # What arrived before the loss is still delivered: it may complete a round.
        if self._frames:
            frame = self._frames.popleft()
            size = kept_bytes(frame)
            self.pending -= size
            if self._taken is not None:
                self._taken(size)
            return frame
        if self.failure is None and is_late:
            raise PeerTimeoutError(self.peer, f"sent nothing for {timeout:g} s")
        if self.failure is None:
            raise PeerError(self.peer, "two receivers wait on one inbox; use one conversation each")
        # A fresh instance each time: a raised one would keep its first traceback.
        raise type(self.failure)(self.failure.peer, self.failure.what)


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
        # A closed socket swallows what still arrives, too.
        if self._closed or self._inbox.failure is not None:
            return
        try:
            # Encoded and decoded as on a socket, so that tests in memory find errors of the format.
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
            gone = LinkClosedError(self._other._peer, "closed the link")
            self._other._inbox.fail(gone)

    async def receive(self, *, timeout: float | None) -> Frame:
        return await self._inbox.get(timeout=timeout)

    async def close(self) -> None:
        self._shut()


def memory_pair(
    first: str, second: str, *, limit: int = FRAME_LIMIT
) -> tuple[MemoryLink, MemoryLink]:
    """Both ends of a link between two named parties; the first end belongs to `first`."""
    here, there = MemoryLink(second, limit=limit), MemoryLink(first, limit=limit)
    here.join(there)
    return here, there


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong with the frames sent; they are counted from 0."""

    delay: float = 0.0
    """Delay of every frame in seconds, without blocking the sender."""
    drop: frozenset[int] = frozenset()
    """Frames that are lost."""
    stall_after: int | None = None
    """From this frame on all frames are lost silently."""
    corrupt: dict[int, int] = field(default_factory=dict)
    """Frames of which one byte is flipped, and at which offset, the header included."""


class FaultyLink:
    """Wraps a link and applies the faults to what is sent through it."""

    def __init__(self, link: Link, faults: Faults) -> None:
        self._link = link
        self._faults = faults
        self._count = 0
        self._late: asyncio.Queue[tuple[float, bytes, Buffer]] = asyncio.Queue()
        self._courier: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def peer(self) -> str:
        return self._link.peer

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:
        """Send the frame, or what the faults leave of it."""
        faults, number = self._faults, self._count
        self._count += 1
        if number in faults.drop:
            return
        if faults.stall_after is not None and number >= faults.stall_after:
            return
        if number in faults.corrupt:
            header, payload = _flip(header, payload, faults.corrupt[number])
        if not faults.delay or self._closed:
            await self._link.send(header, payload, timeout=timeout)
            return
        loop = asyncio.get_running_loop()
        self._late.put_nowait((loop.time() + faults.delay, header, payload))
        if self._courier is None or self._courier.done():
            self._courier = loop.create_task(self._deliver(timeout))

    async def _deliver(self, timeout: float) -> None:
        loop = asyncio.get_running_loop()
        while not self._late.empty():
            due, header, payload = self._late.get_nowait()
            await asyncio.sleep(max(0.0, due - loop.time()))
            try:
                await self._link.send(header, payload, timeout=timeout)
            except PeerError:
                return  # the sender has gone on; the next user of the link gets the error

    async def receive(self, *, timeout: float | None) -> Frame:
        return await self._link.receive(timeout=timeout)

    async def close(self) -> None:
        """Deliver what is under way, then close the wrapped link."""
        self._closed = True
        if self._courier is not None:
            await self._courier
        await self._link.close()


def delayed(link: Link, delay_ms: float, /) -> Link:
    """The link itself, or one that is slower by so much, for measuring.

    >>>
    >>> link = memory_pair("a", "b")[0]
    >>> delayed(link, 0) is link, delayed(link, 5) is link
    (True, False)
    """
    return FaultyLink(link, Faults(delay=delay_ms / 1000)) if delay_ms else link


def _flip(header: bytes, payload: Buffer, offset: int) -> tuple[bytes, Buffer]:
    whole = bytearray(header) + bytearray(payload)
    whole[offset] ^= 0xFF
    return bytes(whole[: len(header)]), whole[len(header) :]
