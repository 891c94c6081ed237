"""Many conversations on one link: frames are sorted by the channel in their header.

Evaluations interleave freely, since each waits for its own frames only. Frames for a channel that
nobody has opened yet are kept for a while, up to a limit (`EarlyFrames`); those for a closed
channel are discarded. When unread frames in open conversations exceed a limit, nothing more is read
from the link (back-pressure).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tacit.errors import AbortError, PeerError, PeerLostError
from tacit.mpc.transport.frame import Buffer, Channel, Frame, FrameKind, Header, encode
from tacit.mpc.transport.link import Inbox, Link, kept_bytes

MOST_CHANNELS = 4096


@dataclass(slots=True)
class _EarlyChannel:
    since: float
    frames: list[Frame] = field(default_factory=list)
    size: int = 0


class EarlyFrames:
    """Frames by channel, until it is opened, they are too old, or there are too many."""

    def __init__(self, *, limit: int, seconds: float) -> None:
        self.seconds = seconds
        self._limit = limit
        self._kept: dict[Channel, _EarlyChannel] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, frame: Frame, /, *, now: float) -> None:
        """Keep a frame; above the limits, frames of the agreement that has most are discarded."""
        channel = frame.header.channel
        kept = self._kept.setdefault(channel, _EarlyChannel(now))
        kept.frames.append(frame)
        kept.size += kept_bytes(frame)
        self._size += kept_bytes(frame)
        # A peer that begins evaluations which we never open must not fill our memory.
        while self._size > self._limit or len(self._kept) > MOST_CHANNELS:
            self.take(self._oldest_of_largest_agreement())

    def _oldest_of_largest_agreement(self) -> Channel:
        """So that a flood for one agreement does not displace the frames of the others."""
        sizes: dict[bytes, int] = {}
        for channel, kept in self._kept.items():
            weight = kept.size if self._size > self._limit else 1
            sizes[channel.agreement] = sizes.get(channel.agreement, 0) + weight
        greediest = max(sizes, key=lambda agreement: sizes[agreement])
        return next(channel for channel in self._kept if channel.agreement == greediest)

    def take(self, channel: Channel, /) -> list[Frame]:
        """Remove and return the frames of a channel."""
        kept = self._kept.pop(channel, None)
        if kept is None:
            return []
        self._size -= kept.size
        return kept.frames

    def drop(self, which: Callable[[Channel], bool], /) -> None:
        for channel in [name for name in self._kept if which(name)]:
            self.take(channel)

    def expire(self, now: float, /) -> None:
        """Discard what has waited for too long."""
        limit = now - self.seconds
        self.drop(lambda channel: self._kept[channel].since <= limit)


T = TypeVar("T")
PENDING_LIMIT = 256 << 20
"""The limit of unread bytes in open conversations, and in those that are not open yet."""
EARLY_SECONDS = 30.0
"""Seconds for which frames of a conversation that is not open yet are kept."""
_REMEMBERED = 4096
_NAME_LIMIT = 100


class Conversation:
    """One channel of a link: numbered frames in both directions, under one tag."""

    def __init__(self, mux: Mux, channel: Channel, inbox: Inbox, tag: bytes) -> None:
        self._mux, self._channel, self._inbox, self._tag = mux, channel, inbox, tag
        self._sent = self._received = 0

    @property
    def peer(self) -> str:
        return self._inbox.peer

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
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
        """Raise this error in the receiver that waits for a frame."""
        self._inbox.fail(error)

    def close(self) -> None:
        """Discard what may still arrive."""
        self._mux.forget(self._channel)


def check_frame(header: Header, tag: bytes, sequence: int, *, peer: str) -> None:
    """Reject a frame of another request, or one out of sequence.

    >>> header = Header(Channel(bytes(16)), b"12345678", depth=1, sequence=2, length=0)
    >>> check_frame(header, b"12345678", 1, peer="node 2")
    Traceback (most recent call last):
    tacit.errors.AbortError: node 2: sent frame 2 where frame 1 was due; a frame was lost
    """
    if header.tag != tag:
        raise AbortError(
            peer,
            "works on another request under the same number; send all nodes the same one, and "
            "give all the same version",
        )
    if header.sequence != sequence:
        what = f"sent frame {header.sequence} where frame {sequence} was due; a frame was lost"
        raise AbortError(peer, what)


def _whole(channel: Channel) -> Channel:
    """The common name of all substreams of an evaluation and of notices about it.

    A notice has the kind of its subject in place of a substream.
    """
    if channel.kind is not FrameKind.NOTICE:
        return channel._replace(substream=0)
    about = (
        FrameKind(channel.substream) if channel.substream in tuple(FrameKind) else FrameKind.NOTICE
    )
    return channel._replace(substream=0, kind=about)


def _remember(memory: OrderedDict[Channel, T], channel: Channel, what: T) -> None:
    memory[channel] = what
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)


class Mux:
    """Sorts what arrives on a link into conversations. Start it inside a running loop.

    >>> import asyncio
    >>> from tacit.mpc.transport.link import memory_pair
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

    def __init__(
        self,
        link: Link,
        *,
        pending_limit: int = PENDING_LIMIT,
        early_seconds: float = EARLY_SECONDS,
    ) -> None:
        self.link = link
        self._limit = pending_limit
        self._early = EarlyFrames(limit=pending_limit, seconds=early_seconds)
        self._sweeper: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._inboxes: dict[Channel, Inbox] = {}
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
        """The conversation of this channel; each can be opened once."""
        # Reopening would mix frames of two attempts under one name, and so under one set of masks.
        if channel in self._inboxes or self._is_closed(channel):
            raise AbortError(self.link.peer, f"{channel} was opened before; use the next attempt")
        inbox = self._inboxes[channel] = Inbox(self.link.peer, taken=self._room.set)
        # A faster peer may have sent already.
        for frame in self._early.take(channel):
            inbox.put(frame)
        if self._failure is not None:
            inbox.fail(self._failure)
        return Conversation(self, channel, inbox, tag)

    def forget(self, channel: Channel) -> None:
        """Drop a conversation with all that arrived or will arrive for it."""
        self._early.take(channel)
        self._inboxes.pop(channel, None)
        self._room.set()
        # Late frames of it are discarded instead of kept as early ones.
        _remember(self._closed, channel, None)

    def finish(self, channel: Channel) -> None:
        """Drop all substreams of an evaluation, also those that were never opened here.

        For an evaluation that has ended or was rejected: nothing of it may accumulate.
        """
        whole = _whole(channel)
        for substream in [name for name in self._inboxes if _whole(name) == whole]:
            self.forget(substream)
        self._early.drop(lambda name: _whole(name) == whole)
        self._watchers.pop(whole, None)
        self._notices.pop(whole, None)
        # Also for substreams that were never opened here: their frames may still be under way.
        _remember(self._finished, whole, None)

    def _is_closed(self, channel: Channel) -> bool:
        return channel in self._closed or _whole(channel) in self._finished

    def watch(self, channel: Channel, handler: Callable[[PeerError], None] | None) -> None:
        """Call the handler if the peer gives notice that this evaluation failed; None ends it."""
        if handler is None:
            self._watchers.pop(channel, None)
            return
        # The peer may have failed before we began to watch.
        early = self._notices.pop(channel, None)
        if early is not None:
            handler(early)
        else:
            self._watchers[channel] = handler

    async def notify(self, channel: Channel, culprit: str, *, timeout: float) -> None:
        """Notify the peer that an evaluation failed here, and because of whom ("" for us)."""
        payload = culprit.encode()
        notice = channel._replace(kind=FrameKind.NOTICE, substream=channel.kind)
        header = Header(notice, bytes(8), 0, 0, len(payload))
        await self.link.send(encode(header), payload, timeout=timeout)

    def _noticed(self, frame: Frame) -> None:
        channel = _whole(frame.header.channel)
        # From a peer, so cut and decoded leniently: it only names somebody in an error.
        name = bytes(frame.payload[:_NAME_LIMIT]).decode(errors="replace")
        error = AbortError(
            name or self.link.peer, f"failed in this evaluation, says {self.link.peer}"
        )
        # The peer gave up: what it sent for this evaluation is useless to a later start.
        self._early.drop(lambda name: _whole(name) == channel)
        handler = self._watchers.pop(channel, None)
        if handler is not None:
            handler(error)
        elif channel.kind is FrameKind.PROTOCOL and channel not in self._finished:
            _remember(self._notices, channel, error)

    async def _sort(self) -> None:
        try:
            while True:
                # Read nothing while consumers lag: TCP then slows the sender down, and memory stays
                # bounded.
                await self._wait_for_room()
                frame = await self.link.receive(timeout=None)
                if frame.header.channel.kind is FrameKind.NOTICE:
                    self._noticed(frame)
                else:
                    self._arrived(frame)
                del frame  # while we wait for the next, its bytes are nobody's but the receiver's
        except PeerError as error:
            self._fail(error)
        finally:
            self._fail(PeerLostError(self.link.peer, "the link is closed; connect again"))

    async def _wait_for_room(self) -> None:
        while sum(inbox.pending for inbox in self._inboxes.values()) > self._limit:
            self._room.clear()
            await self._room.wait()

    def _arrived(self, frame: Frame) -> None:
        channel = frame.header.channel
        inbox = self._inboxes.get(channel)
        if inbox is not None:
            inbox.put(frame)
        # Nothing is kept for what is closed, or what the peer itself has given up.
        elif not self._is_closed(channel) and _whole(channel) not in self._notices:
            loop = asyncio.get_running_loop()
            self._early.add(frame, now=loop.time())
            if self._sweeper is None:
                self._sweeper = loop.call_later(self._early.seconds, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._early.expire(loop.time())
        again = len(self._early) > 0 and self._failure is None
        self._sweeper = loop.call_later(self._early.seconds / 4, self._sweep) if again else None

    def _fail(self, error: PeerError) -> None:
        if self._failure is None:
            self._failure = error
            for inbox in self._inboxes.values():
                inbox.fail(error)

    async def close(self) -> None:
        """Close the link; all waiting receivers get `PeerLostError`."""
        await self.link.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._pump.cancel()
        await asyncio.gather(self._pump, return_exceptions=True)
