"""Keep what a peer sends for conversations that are not open yet: within limits, in constant time.

A faster peer sends the first frames of an evaluation before this party has begun it, and a notice
if it has failed already. A hostile peer sends them for evaluations that nobody ever begins. So
adding, taking and dropping a frame cost the same however many are kept, and nothing is searched.

An agreement may keep no more than is still free beside all that is kept (dynamic thresholds). One
that takes all it can get leaves half of the room to the others, two leave a third. What does not
fit is dropped when it arrives, so nothing that was kept is displaced.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.mpc.transport.frame import Channel, Frame, FrameKind
from tacit.mpc.transport.link import kept_bytes

_KINDS = {int(kind): kind for kind in FrameKind}


def whole_of(channel: Channel) -> Channel:
    """The common name of all substreams of an evaluation and of notices about it."""
    if channel.kind is not FrameKind.NOTICE:
        return channel._replace(substream=0) if channel.substream else channel
    # A notice has the kind of its subject in place of a substream.
    about = _KINDS.get(channel.substream, FrameKind.NOTICE)
    return channel._replace(substream=0, kind=about)


def notice_about(whole: Channel) -> Channel:
    """The channel of a notice about an evaluation.

    >>> whole = Channel(bytes(16), evaluation=7)
    >>> whole_of(notice_about(whole)) == whole
    True
    """
    return whole._replace(kind=FrameKind.NOTICE, substream=whole.kind)


@dataclass(frozen=True, slots=True)
class EarlyLimits:
    """How much is kept of one link. Each notice counts as a frame and as a channel."""

    channels: int = 2048
    frames: int = 8192
    size: int = 256 << 20
    """In bytes, with what a frame takes beside its payload."""
    seconds: float = 30.0
    """So long a channel is kept, and so long frames that did not fit are counted together."""
    dropped: int = 200_000
    """A link of which more did not fit within `seconds` is closed. An honest peer stays far below
    it, whatever its platforms ask it for."""


@dataclass(slots=True)
class _Amount:
    """What is kept: in all, or of one agreement."""

    channels: int = 0
    frames: int = 0
    size: int = 0

    def add(self, channels: int, frames: int, size: int) -> None:
        self.channels += channels
        self.frames += frames
        self.size += size


@dataclass(slots=True)
class _EarlyChannel:
    since: float
    frames: list[Frame] = field(default_factory=list)
    size: int = 0


class EarlyFrames:
    """Frames by channel, until it is opened or they are too old."""

    def __init__(self, limits: EarlyLimits, /) -> None:
        self.limits = limits
        # In the order in which channels began, so that the oldest are found at the front.
        self._channels: dict[Channel, _EarlyChannel] = {}
        self._wholes: dict[Channel, dict[Channel, None]] = {}
        self._agreements: dict[bytes, _Amount] = {}
        self._kept = _Amount()
        self._dropped, self._counted_since = 0, 0.0

    def __len__(self) -> int:
        return len(self._channels)

    @property
    def overflows(self) -> bool:
        """Whether more was dropped lately than an honest peer sends in vain."""
        return self._dropped > self.limits.dropped

    def add(self, frame: Frame, /, *, now: float) -> bool:
        """Keep a frame, and return whether there was room for it."""
        channel, size = frame.header.channel, kept_bytes(frame)
        early = self._channels.get(channel)
        own = self._agreements.get(channel.agreement)
        if not self._fits(own or _Amount(), channels=early is None, size=size):
            self._count_dropped(now)
            return False
        if early is None:
            early = self._channels[channel] = _EarlyChannel(now)
            self._wholes.setdefault(whole_of(channel), {})[channel] = None
            channels = 1
        else:
            channels = 0
        if own is None:
            own = self._agreements[channel.agreement] = _Amount()
        early.frames.append(frame)
        early.size += size
        own.add(channels, 1, size)
        self._kept.add(channels, 1, size)
        return True

    def _fits(self, own: _Amount, *, channels: bool, size: int) -> bool:
        """Whether an agreement has no more than is free once a frame is added."""
        limits, kept = self.limits, self._kept
        return (
            own.channels + channels <= limits.channels - kept.channels
            and own.frames < limits.frames - kept.frames
            and own.size + size <= limits.size - kept.size
        )

    def _count_dropped(self, now: float) -> None:
        if now - self._counted_since > self.limits.seconds:
            self._dropped, self._counted_since = 0, now
        self._dropped += 1

    def take(self, channel: Channel, /) -> list[Frame]:
        """Remove and return the frames of a channel."""
        early = self._channels.pop(channel, None)
        if early is None:
            return []
        whole = whole_of(channel)
        del self._wholes[whole][channel]
        if not self._wholes[whole]:
            del self._wholes[whole]
        own = self._agreements[channel.agreement]
        for amount in (own, self._kept):
            amount.add(-1, -len(early.frames), -early.size)
        if not own.channels:
            del self._agreements[channel.agreement]
        return early.frames

    def has_notice(self, whole: Channel, /) -> bool:
        """Whether the peer has given up this evaluation."""
        return notice_about(whole) in self._channels

    def drop(self, whole: Channel, /) -> None:
        """Discard all substreams of an evaluation, and a notice about it."""
        for channel in list(self._wholes.get(whole, ())):
            self.take(channel)

    def expire(self, now: float, /) -> None:
        """Discard what has waited for too long."""
        limit = now - self.limits.seconds
        while self._channels:
            channel, early = next(iter(self._channels.items()))
            if early.since > limit:
                return
            self.take(channel)
