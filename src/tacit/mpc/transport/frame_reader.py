"""Frames put together from bytes as they arrive.

Small frames, which most are, come whole and several at a time into a common buffer: one call of the
network for each of them would take longer than all else. The payload of a large one is
read straight into the memory that later becomes the array.
"""

from __future__ import annotations

import numpy as np

from tacit.mpc.transport.frame import HEADER_BYTES, Frame, Header, decode

STAGED_BYTES = 1 << 15
"""What is read at a time where no large payload is under way: two records of TLS."""


class FrameReader:
    """The bytes of one peer in order, cut into frames.

    >>> from tacit.mpc.transport.frame import Channel, encode
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
