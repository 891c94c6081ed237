"""Many conversations on one link: frames are sorted by the channel in their header.

Evaluations interleave freely, since each waits for its own frames only. Frames for a channel that
nobody has opened yet are kept for a while, within limits (`early_frames`); those for a closed
channel are discarded. When unread frames in open conversations exceed a limit, nothing more is read
from the link (back-pressure). A link that exceeds the limits again and again is closed.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from tacit.errors import AbortError, FrameError, PeerError, PeerLostError
from tacit.mpc.transport.early_frames import EarlyFrames, EarlyLimits, notice_about, whole_of
from tacit.mpc.transport.frame import Buffer, Channel, Frame, FrameKind, Header, encode
from tacit.mpc.transport.link import Inbox, Link, kept_bytes

PENDING_LIMIT = 256 << 20
"""The limit of unread bytes in open conversations."""
_REMEMBERED = 4096

NoticeHandler = Callable[[int | None], None]
"""Hears that the peer has failed, and the number of the party that it waited for, if it says so."""


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


def _remember(memory: OrderedDict[Channel, None], channel: Channel) -> None:
    memory[channel] = None
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)


def _culprit_in(notice: Frame) -> int | None:
    """The number that a notice has; whatever else a peer sends says nothing."""
    payload = memoryview(notice.payload)
    return payload[0] if payload.nbytes == 1 else None


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
        early: EarlyLimits = EarlyLimits(),  # noqa: B008 - frozen
    ) -> None:
        self.link = link
        self._limit = pending_limit
        self._early = EarlyFrames(early)
        self._sweeper: asyncio.TimerHandle | None = None
        self._room = asyncio.Event()
        self._inboxes: dict[Channel, Inbox] = {}
        self._unread = 0  # bytes in all of them
        self._closed: OrderedDict[Channel, None] = OrderedDict()
        self._failure: PeerError | None = None
        self._finished: OrderedDict[Channel, None] = OrderedDict()
        self._watchers: dict[Channel, NoticeHandler] = {}
        self._pump = asyncio.get_running_loop().create_task(self._sort())

    @property
    def failure(self) -> PeerError | None:
        """Why the link no longer works, or None while it does."""
        return self._failure

    def open(self, channel: Channel, *, tag: bytes = bytes(8)) -> Conversation:
        """The conversation of this channel; each can be opened once."""
        # Reopening would mix frames of two attempts under one name, and so under one set of masks.
        if channel in self._inboxes or self._is_closed(channel, whole_of(channel)):
            raise AbortError(self.link.peer, f"{channel} was opened before; use the next attempt")
        inbox = self._inboxes[channel] = Inbox(self.link.peer, taken=self._taken)
        # A faster peer may have sent already.
        for frame in self._early.take(channel):
            self._put(inbox, frame)
        if self._failure is not None:
            inbox.fail(self._failure)
        return Conversation(self, channel, inbox, tag)

    def forget(self, channel: Channel) -> None:
        """Drop a conversation with all that arrived or will arrive for it."""
        self._early.take(channel)
        inbox = self._inboxes.pop(channel, None)
        if inbox is not None:
            self._taken(inbox.detach())
        # Late frames of it are discarded instead of kept as early ones.
        _remember(self._closed, channel)

    def finish(self, channel: Channel) -> None:
        """Drop all substreams of an evaluation, also those that were never opened here.

        For an evaluation that has ended or was rejected: nothing of it may accumulate.
        """
        whole = whole_of(channel)
        for substream in [name for name in self._inboxes if whole_of(name) == whole]:
            self.forget(substream)
        self._early.drop(whole)
        self._watchers.pop(whole, None)
        # Also for substreams that were never opened here: their frames may still be under way.
        _remember(self._finished, whole)

    def _is_closed(self, channel: Channel, whole: Channel) -> bool:
        return channel in self._closed or whole in self._finished

    def watch(self, channel: Channel, handler: NoticeHandler | None) -> None:
        """Call the handler if the peer gives notice that this evaluation failed; None ends it."""
        if handler is None:
            self._watchers.pop(channel, None)
            return
        # The peer may have failed before we began to watch.
        early = self._early.take(notice_about(channel))
        if early:
            handler(_culprit_in(early[0]))
        else:
            self._watchers[channel] = handler

    async def notify(self, channel: Channel, culprit: int | None, *, timeout: float) -> None:
        """Notify the peer that an evaluation failed here, and which party it waited for."""
        payload = b"" if culprit is None else bytes([culprit])
        header = Header(notice_about(channel), bytes(8), 0, 0, len(payload))
        await self.link.send(encode(header), payload, timeout=timeout)

    def _noticed(self, frame: Frame) -> None:
        whole = whole_of(frame.header.channel)
        # The peer gave up: what it sent for this evaluation is useless to a later start.
        self._early.drop(whole)
        handler = self._watchers.pop(whole, None)
        if handler is not None:
            handler(_culprit_in(frame))
        elif whole.kind is FrameKind.PROTOCOL and whole not in self._finished:
            self._keep_early(frame)

    async def _sort(self) -> None:
        try:
            while True:
                # Read nothing while consumers lag: TCP then slows the sender down, and memory stays
                # bounded.
                await self._wait_for_room()
                # This lets others run where frames are always ready: see `Inbox.get`.
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
        while self._unread > self._limit:
            self._room.clear()
            await self._room.wait()

    def _put(self, inbox: Inbox, frame: Frame) -> None:
        self._unread += kept_bytes(frame)
        inbox.put(frame)

    def _taken(self, size: int) -> None:
        self._unread -= size
        self._room.set()

    def _arrived(self, frame: Frame) -> None:
        channel = frame.header.channel
        inbox = self._inboxes.get(channel)
        if inbox is not None:
            self._put(inbox, frame)
            return
        whole = whole_of(channel)
        # Nothing is kept for what is closed, or what the peer itself has given up.
        if not self._is_closed(channel, whole) and not self._early.has_notice(whole):
            self._keep_early(frame)

    def _keep_early(self, frame: Frame) -> None:
        loop = asyncio.get_running_loop()
        self._early.add(frame, now=loop.time())
        if self._early.overflows:
            what = "sends without end for evaluations that nobody begins; its link is closed"
            raise FrameError(self.link.peer, what)
        if self._sweeper is None:
            self._sweeper = loop.call_later(self._early.limits.seconds, self._sweep)

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        self._early.expire(loop.time())
        self._sweeper = None
        if len(self._early) and self._failure is None:
            self._sweeper = loop.call_later(self._early.limits.seconds / 4, self._sweep)

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
