"""A queue of received frames that ends with an error; every link has one."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from tacit.errors import PeerError, PeerTimeoutError
from tacit.mpc.transport.frame import Frame

_OVERHEAD = 512  # bytes that a frame takes beside its payload, so that empty ones count too


def kept_bytes(frame: Frame, /) -> int:
    """The memory that an unread frame takes."""
    return frame.header.length + _OVERHEAD


class Inbox:
    """Frames from one peer in order, then the error that ended the link.

    >>> inbox = Inbox("node 1")
    >>> inbox.fail(PeerError("node 1", "went away"))
    >>> asyncio.run(inbox.get(timeout=1))
    Traceback (most recent call last):
    tacit.errors.PeerError: node 1: went away
    """

    def __init__(self, peer: str, *, taken: Callable[[], None] | None = None) -> None:
        self.peer = peer
        self._taken = taken
        self.pending = 0
        self.failure: PeerError | None = None
        self._frames: deque[Frame] = deque()
        self._waiter: asyncio.Future[bool] | None = None

    def put(self, frame: Frame) -> None:
        """Append a frame and wake the receiver."""
        self._frames.append(frame)
        self.pending += kept_bytes(frame)
        self._wake()

    def fail(self, error: PeerError) -> None:
        """End the queue with an error; the first error counts."""
        if self.failure is None:
            self.failure = error
        self._wake()

    def _wake(self, is_late: bool = False) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(is_late)

    async def get(self, *, timeout: float | None) -> Frame:
        """The next frame, the error that ended the queue, or `PeerTimeoutError`."""
        is_late = False
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
        if self._frames:
            frame = self._frames.popleft()
            self.pending -= kept_bytes(frame)
            if self._taken is not None:
                self._taken()
            return frame
        if self.failure is None and is_late:
            raise PeerTimeoutError(self.peer, f"sent nothing for {timeout:g} s")
        if self.failure is None:
            raise PeerError(self.peer, "two receivers wait on one inbox; use one conversation each")
        # A fresh instance each time: a raised one would keep its first traceback.
        raise type(self.failure)(self.failure.peer, self.failure.what)
