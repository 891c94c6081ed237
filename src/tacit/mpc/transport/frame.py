"""The frame, the only message on every link: its header, its assembly from bytes, its memory.

::

    magic       4   "TAC1"
    kind        1   protocol, control, epoch or notice
    substream   1   parallel substreams of one evaluation
    depth       2   messages on the longest chain that led to this one: measured rounds
    objective   2   \
    attempt     2    |
    evaluation  8    | name the conversation, so that evaluations share a link
    agreement  16   /  (the first half of its SHA-256)
    tag         8   digest of the whole context, the request included
    sequence    4   position in the conversation, so that a lost frame is noticed
    length      4   bytes that follow

Numbers are little-endian, and so are the arrays in the payload.
"""

from __future__ import annotations

import asyncio
import struct
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from tacit.errors import FrameError

MAGIC = b"TAC1"
FRAME_LIMIT = 64 << 20
"""The default limit of a payload."""

Buffer = bytes | bytearray | memoryview

_LAYOUT = struct.Struct("<4sBBHHHQ16s8sII")
HEADER_BYTES = _LAYOUT.size


class FrameKind(IntEnum):
    """What a conversation is about; each kind has its own conversations."""

    PROTOCOL = 0
    CONTROL = 1
    EPOCH = 2
    NOTICE = 3
    RELAY = 4


_KINDS = {int(kind): kind for kind in FrameKind}
"""Looked up for every frame, where building an `IntEnum` takes ten times as long."""


class Channel(NamedTuple):
    """The name of a conversation between two parties."""

    agreement: bytes
    objective: int = 0
    evaluation: int = 0
    attempt: int = 0
    substream: int = 0
    kind: FrameKind = FrameKind.PROTOCOL


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a frame, decoded."""

    channel: Channel
    tag: bytes
    depth: int
    sequence: int
    length: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame that arrived."""

    header: Header
    payload: Buffer


def encode(header: Header) -> bytes:
    channel = header.channel
    return _LAYOUT.pack(
        MAGIC,
        channel.kind,
        channel.substream,
        header.depth,
        channel.objective,
        channel.attempt,
        channel.evaluation,
        channel.agreement,
        header.tag,
        header.sequence,
        header.length,
    )


def decode(data: Buffer, *, peer: str, limit: int = FRAME_LIMIT) -> Header:
    """Decode a header, or raise a `FrameError` that names the peer.

    >>> decode(b"GET / HTTP/1.1", peer="node 2")
    Traceback (most recent call last):
    tacit.errors.FrameError: node 2: sent a header of 14 bytes instead of 52
    """
    size = memoryview(data).nbytes
    if size != HEADER_BYTES:
        raise FrameError(peer, f"sent a header of {size} bytes instead of {HEADER_BYTES}")
    fields = _LAYOUT.unpack(data)
    magic, kind, substream, depth, objective, attempt, evaluation, agreement, tag, seq, length = (
        fields
    )
    # Checked before anything else: a stray HTTP client gets a clear error.
    if magic != MAGIC:
        raise FrameError(peer, "sent something that is not a frame; check its address")
    known = _KINDS.get(kind)
    if known is None:
        raise FrameError(peer, f"sent a frame of the unknown kind {kind}; compare versions")
    # Before any memory is taken for it.
    if length > limit:
        raise FrameError(peer, f"announced a frame of {length} bytes; the limit is {limit}")
    channel = Channel(agreement, objective, evaluation, attempt, substream, known)
    return Header(channel, tag, depth, seq, length)


FRAME_OVERHEAD = 512
"""Bytes that a frame takes beside its payload, so that empty ones count too."""


class FrameBudget:
    """Bytes of frames that are in memory, and who waits for room. One frame alone always fits.

    >>> import numpy as np
    >>> async def show() -> tuple[bool, bool, list[str]]:
    ...     budget, resumed = FrameBudget(2000), []
    ...     first, second = (np.empty(1000, np.uint8).data for _ in range(2))
    ...     now = budget.count(first, lambda: resumed.append("first"))
    ...     later = budget.count(second, lambda: resumed.append("second"))
    ...     del first
    ...     await asyncio.sleep(0)
    ...     return now, later, resumed
    >>> asyncio.run(show())
    (True, False, ['second'])
    """

    def __init__(self, most: int, /) -> None:
        self._most = most
        self.used = 0
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def count(self, payload: memoryview, resume: Callable[[], None], /) -> bool:
        """Whether the bytes of a frame may be read now; otherwise `resume` is called later."""
        size = payload.nbytes + FRAME_OVERHEAD
        # First come, first served: a small frame must not overtake a large one for ever.
        fits = not self._waiting and self._fits(size)
        if fits:
            self.used += size
        else:
            self._waiting.append((size, resume))
        loop = asyncio.get_running_loop()
        # A frame counts until its array is collected, wherever it was passed on to.
        weakref.finalize(payload.obj, _soon, loop, self._gone, size, resume)
        return fits

    def _fits(self, size: int) -> bool:
        # One frame alone always fits, however large: otherwise it would wait for ever.
        return not self.used or self.used + size <= self._most

    def _gone(self, size: int, resume: Callable[[], None]) -> None:
        if (size, resume) in self._waiting:
            # Its link ended before it was read, or had read all of it ahead.
            self._waiting.remove((size, resume))
            resume()
        else:
            self.used -= size
        while self._waiting and self._fits(self._waiting[0][0]):
            size, resume = self._waiting.popleft()
            self.used += size
            resume()


def _soon(
    loop: asyncio.AbstractEventLoop,
    gone: Callable[[int, Callable[[], None]], None],
    size: int,
    resume: Callable[[], None],
) -> None:
    """On the loop, whichever thread used the bytes last."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(gone, size, resume)


STAGED_BYTES = 1 << 15
"""What is read at a time where no large payload is under way: two records of TLS."""


class FrameReader:
    """The bytes of one peer in order, cut into frames.

    >>>
    >>> reader = FrameReader(limit=100)
    >>> sent = encode(Header(Channel(bytes(16)), bytes(8), 1, 0, 5)) + b"hello"
    >>> reader.room()[: len(sent)] = sent
    >>> reader.took(len(sent))
    >>> reader.begin("node 1").nbytes
    5
    >>> bytes(reader.frame().payload), reader.is_inside
    (b'hello', False)
    """

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._staged = memoryview(bytearray(STAGED_BYTES))
        self._first = self._last = 0  # the bytes that are staged and not cut yet
        self._header: Header | None = None
        self._body = memoryview(b"")
        self._filled = 0
        self._is_direct = False

    @property
    def announced(self) -> memoryview | None:
        """Where the payload of the frame under way goes, once its header has come."""
        return None if self._header is None else self._body

    @property
    def is_inside(self) -> bool:
        """Whether a part of a frame has come."""
        return self._header is not None or self._first < self._last

    def room(self) -> memoryview:
        """Where the next bytes go."""
        # A large payload goes straight to its place, without a copy.
        self._is_direct = self._header is not None and self._missing >= STAGED_BYTES
        if self._is_direct:
            return self._body[self._filled :]
        if self._first == self._last:
            self._first = self._last = 0
        elif self._first:
            rest = bytes(self._staged[self._first : self._last])
            self._staged[: len(rest)] = rest
            self._first, self._last = 0, len(rest)
        return self._staged[self._last :]

    def took(self, count: int) -> None:
        """So many bytes have come."""
        if self._is_direct:
            self._filled += count
        else:
            self._last += count

    @property
    def _missing(self) -> int:
        return self._body.nbytes - self._filled

    def begin(self, peer: str) -> memoryview | None:
        """If the header of a next frame has come: where its payload goes."""
        if self._header is not None or self._last - self._first < HEADER_BYTES:
            return None
        head = self._staged[self._first : self._first + HEADER_BYTES]
        self._header = decode(head, peer=peer, limit=self._limit)
        self._first += HEADER_BYTES
        # Not zeros, which would take memory before a byte of it has arrived.
        self._body = np.empty(self._header.length, np.uint8).data
        self._filled = 0
        return self._body

    def frame(self) -> Frame | None:
        """The frame under way, if all of it has come."""
        if self._header is None:
            return None
        count = min(self._missing, self._last - self._first)
        if count:
            staged = self._staged[self._first : self._first + count]
            self._body[self._filled : self._filled + count] = staged
            self._filled += count
            self._first += count
        if self._missing:
            return None
        frame = Frame(self._header, self._body)
        self._header, self._body, self._filled = None, memoryview(b""), 0
        return frame

    def forget(self) -> None:
        """Keep nothing of what has come: the rest of it never will."""
        self._header, self._body, self._filled = None, memoryview(b""), 0
        self._first = self._last = 0
