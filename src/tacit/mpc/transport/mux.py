"""Many conversations on one link: frames are sorted by the channel in their header.

Evaluations interleave freely, since each waits for its own frames only. Frames for a channel that
nobody has opened yet are kept (a peer may be faster than we are), up to a limit; those for a
channel that was closed are thrown away.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeVar

from tacit.errors import AbortError, FrameError, PeerError, PeerLostError
from tacit.mpc.transport.frame import Buffer, Channel, Frame, Header, Kind, encode
from tacit.mpc.transport.inbox import Inbox
from tacit.mpc.transport.link import Link

T = TypeVar("T")
PENDING_LIMIT = 256 << 20
_REMEMBERED = 4096
_NAME_LIMIT = 100


class Conversation:
    """One channel of a link: numbered frames in both directions, under one tag."""

    def __init__(self, mux: Mux, channel: Channel, inbox: Inbox, tag: bytes) -> None:
        self._mux, self._channel, self._inbox, self._tag = mux, channel, inbox, tag
        self._sent = self._received = 0

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        """Send a frame with the next number."""
        length = memoryview(payload).nbytes
        header = Header(self._channel, self._tag, depth, self._sent, length)
        self._sent += 1
        await self._mux.link.send(encode(header), payload, timeout=timeout)

    async def receive(self, *, timeout: float) -> Frame:
        """The next frame, if its number and its tag are the expected ones."""
        frame = await self._inbox.get(timeout=timeout)
        check_frame(frame.header, self._tag, self._received, peer=self._inbox.peer)
        self._received += 1
        return frame

    def fail(self, error: PeerError) -> None:
        """Let whoever waits for a frame here get this error."""
        self._inbox.fail(error)

    def close(self) -> None:
        """Throw away what may still arrive."""
        self._mux.forget(self._channel)


def check_frame(header: Header, tag: bytes, sequence: int, *, peer: str) -> None:
    """Refuse a frame of another request, or one out of its turn.

    >>> header = Header(Channel(bytes(16)), b"12345678", depth=1, sequence=2, length=0)
    >>> check_frame(header, b"12345678", 1, peer="node 2")
    Traceback (most recent call last):
    tacit.errors.AbortError: node 2: sent frame 2 where frame 1 was due; a frame was lost
    """
    if header.tag != tag:
        raise AbortError(
            peer, "works on another request under the same number; send all nodes the same one"
        )
    if header.sequence != sequence:
        what = f"sent frame {header.sequence} where frame {sequence} was due; a frame was lost"
        raise AbortError(peer, what)


def _whole(channel: Channel) -> Channel:
    """The name that all strands of an evaluation, and notices of it, have in common."""
    notice = channel.kind is Kind.NOTICE
    return channel._replace(strand=0, kind=Kind.PROTOCOL if notice else channel.kind)


def _remember(memory: OrderedDict[Channel, T], channel: Channel, what: T) -> None:
    memory[channel] = what
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)


class Mux:
    """Sorts what arrives on a link into conversations. Start it inside a running loop.

    >>> import asyncio
    >>> from tacit.mpc.transport.memory import memory_pair
    >>> async def talk() -> bytes:
    ...     here, there = (Mux(link) for link in memory_pair("node 0", "node 1"))
    ...     await here.open(Channel(bytes(16), evaluation=7)).send(1, b"hello", timeout=1)
    ...     frame = await there.open(Channel(bytes(16), evaluation=7)).receive(timeout=1)
    ...     await here.close()
    ...     await there.close()
    ...     return bytes(frame.payload)
    >>> asyncio.run(talk())
    b'hello'
    """

    def __init__(self, link: Link, *, pending_limit: int = PENDING_LIMIT) -> None:
        self.link = link
        self._limit = pending_limit
        self._inboxes: dict[Channel, Inbox] = {}
        self._opened: set[Channel] = set()
        self._closed: OrderedDict[Channel, None] = OrderedDict()
        self._failure: PeerError | None = None
        self._finished: OrderedDict[Channel, None] = OrderedDict()
        self._watchers: dict[Channel, Callable[[PeerError], None]] = {}
        self._notices: OrderedDict[Channel, PeerError] = OrderedDict()
        self._pump = asyncio.get_running_loop().create_task(self._sort())

    @property
    def failure(self) -> PeerError | None:
        """Why the link no longer works, or None while it does."""
        return self._failure

    def open(self, channel: Channel, *, tag: bytes = bytes(8)) -> Conversation:
        """The conversation of this channel; each can be opened once.

        >>> from tacit.mpc.transport.memory import memory_pair
        >>> async def twice() -> None:
        ...     mux = Mux(memory_pair("node 0", "node 1")[0])
        ...     _ = mux.open(Channel(bytes(16))), mux.open(Channel(bytes(16)))
        >>> asyncio.run(twice())  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tacit.errors.AbortError: node 1: Channel(...) was opened before; use the next attempt
        """
        if channel in self._opened or self._is_closed(channel):
            raise AbortError(self.link.peer, f"{channel} was opened before; use the next attempt")
        self._opened.add(channel)
        return Conversation(self, channel, self._inbox(channel), tag)

    def forget(self, channel: Channel) -> None:
        """Drop a conversation with all that arrived or will arrive for it.

        >>> from tacit.mpc.transport.memory import memory_pair
        >>> async def forget() -> None:
        ...     mux = Mux(memory_pair("node 0", "node 1")[0])
        ...     mux.forget(Channel(bytes(16)))
        ...     await mux.close()
        >>> asyncio.run(forget())
        """
        self._opened.discard(channel)
        self._inboxes.pop(channel, None)
        _remember(self._closed, channel, None)

    def finish(self, channel: Channel) -> None:
        """Drop all strands of an evaluation, also those that were never opened here.

        For an evaluation that has ended or was refused: nothing of it may pile up.

        >>> from tacit.mpc.transport.memory import memory_pair
        >>> async def refuse() -> None:
        ...     mux = Mux(memory_pair("node 0", "node 1")[0])
        ...     mux.finish(Channel(bytes(16), evaluation=7))
        ...     _ = mux.open(Channel(bytes(16), evaluation=7, strand=1))
        >>> asyncio.run(refuse())  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tacit.errors.AbortError: node 1: Channel(...) was opened before; use the next attempt
        """
        whole = _whole(channel)
        for strand in [name for name in self._inboxes if _whole(name) == whole]:
            self.forget(strand)
        self._watchers.pop(whole, None)
        self._notices.pop(whole, None)
        _remember(self._finished, whole, None)

    def _is_closed(self, channel: Channel) -> bool:
        return channel in self._closed or _whole(channel) in self._finished

    def watch(self, channel: Channel, handler: Callable[[PeerError], None] | None) -> None:
        """Call the handler if the peer gives notice that this evaluation failed; None ends it.

        >>> from tacit.mpc.transport.memory import memory_pair
        >>> async def warn() -> str:
        ...     here, there = (Mux(link) for link in memory_pair("node 0", "node 1"))
        ...     told = asyncio.get_running_loop().create_future()
        ...     there.watch(Channel(bytes(16)), told.set_result)
        ...     await here.notify(Channel(bytes(16)), "node 2", timeout=1)
        ...     return str(await told)
        >>> asyncio.run(warn())
        'node 2: failed in this evaluation, says node 0'
        """
        if handler is None:
            self._watchers.pop(channel, None)
            return
        early = self._notices.pop(channel, None)
        if early is not None:
            handler(early)
        else:
            self._watchers[channel] = handler

    async def notify(self, channel: Channel, culprit: str, *, timeout: float) -> None:
        """Tell the peer that an evaluation failed here, and because of whom ("" for ourselves).

        >>> from tacit.mpc.transport.memory import memory_pair
        >>> async def tell() -> None:
        ...     mux = Mux(memory_pair("node 0", "node 1")[0])
        ...     await mux.notify(Channel(bytes(16)), "node 2", timeout=1)
        >>> asyncio.run(tell())
        """
        payload = culprit.encode()
        notice = channel._replace(kind=Kind.NOTICE)
        header = Header(notice, bytes(8), 0, 0, len(payload))
        await self.link.send(encode(header), payload, timeout=timeout)

    def _noticed(self, frame: Frame) -> None:
        channel = _whole(frame.header.channel)
        name = bytes(frame.payload[:_NAME_LIMIT]).decode(errors="replace")
        error = AbortError(
            name or self.link.peer, f"failed in this evaluation, says {self.link.peer}"
        )
        handler = self._watchers.pop(channel, None)
        if handler is not None:
            handler(error)
        elif channel not in self._finished:
            # The peer gave up before we have begun.
            _remember(self._notices, channel, error)

    def _inbox(self, channel: Channel) -> Inbox:
        inbox = self._inboxes.get(channel)
        if inbox is None:
            inbox = self._inboxes[channel] = Inbox(self.link.peer)
            if self._failure is not None:
                inbox.fail(self._failure)
        return inbox

    async def _sort(self) -> None:
        try:
            while True:
                frame = await self.link.receive(timeout=None)
                channel = frame.header.channel
                if channel.kind is Kind.NOTICE:
                    self._noticed(frame)
                    continue
                if self._is_closed(channel):
                    continue
                self._inbox(channel).put(frame)
                if channel not in self._opened:
                    self._check_pending()
        except PeerError as error:
            self._fail(error)
        finally:
            self._fail(PeerLostError(self.link.peer, "the link is closed; connect again"))

    def _check_pending(self) -> None:
        early = [box for name, box in self._inboxes.items() if name not in self._opened]
        if len(early) > _REMEMBERED or sum(box.pending for box in early) > self._limit:
            raise FrameError(self.link.peer, "sent too much for evaluations that nobody began")

    def _fail(self, error: PeerError) -> None:
        if self._failure is None:
            self._failure = error
            for inbox in self._inboxes.values():
                inbox.fail(error)

    async def close(self) -> None:
        """Close the link; everybody who waits on it gets `PeerLostError`."""
        await self.link.close()
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)
