"""Frames for conversations that are not open yet.

A peer may be faster than this party, so its frames are kept for a while. A peer may also have begun
something that this party never hears of, so frames are kept for a limited time and up to a limited
size: what is too old or too much is discarded, and the link and all other conversations go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.mpc.transport.frame import Channel, Frame
from tacit.mpc.transport.inbox import kept_bytes

MOST_CHANNELS = 4096


@dataclass(slots=True)
class _Kept:
    since: float
    frames: list[Frame] = field(default_factory=list)
    size: int = 0


class EarlyFrames:
    """Frames by channel, until it is opened, they are too old, or there are too many."""

    def __init__(self, *, limit: int, seconds: float) -> None:
        self.seconds = seconds
        self._limit = limit
        self._kept: dict[Channel, _Kept] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, frame: Frame, /, *, now: float) -> None:
        """Keep a frame; above the limits, frames of the agreement that has most are discarded."""
        channel = frame.header.channel
        kept = self._kept.setdefault(channel, _Kept(now))
        kept.frames.append(frame)
        kept.size += kept_bytes(frame)
        self._size += kept_bytes(frame)
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
        """Discard all channels for which this holds."""
        for channel in [name for name in self._kept if which(name)]:
            self.take(channel)

    def expire(self, now: float, /) -> None:
        """Discard what has waited for too long."""
        limit = now - self.seconds
        self.drop(lambda channel: self._kept[channel].since <= limit)
