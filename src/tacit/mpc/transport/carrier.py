"""A stream of bytes through a third party, on a conversation with it.

Each end keeps at most a window of bytes that the other has not taken yet, so nobody holds more than
that for a slow one. The party between passes frames on, and ends the stream if an end exceeds it.
What the bytes say is not its affair: see `tls_inside`.
"""

from __future__ import annotations

import asyncio
import struct
from collections import deque
from enum import IntEnum

from tacit.errors import AbortError, PeerError, PeerLostError, PeerTimeoutError
from tacit.mpc.transport.frame import Buffer
from tacit.mpc.transport.mux import Conversation

CHUNK = 1 << 18
"""The most bytes of one frame."""
WINDOW = 1 << 22
"""The most bytes that are under way in one direction."""
_SECONDS = 10.0
"""So long a link may take nothing before the stream ends."""
_QUIET_SECONDS = 3600.0
_TAKEN = struct.Struct("<BI")


class _Sort(IntEnum):
    """What a frame of a stream is; its first byte says so."""

    BYTES = 0
    TAKEN = 1
    END = 2


def _read(payload: Buffer, *, peer: str) -> tuple[_Sort, memoryview, int]:
    """What a frame is, its bytes, and how many bytes it says were taken."""
    data = memoryview(payload)
    if data.nbytes and data[0] == _Sort.BYTES and data.nbytes <= CHUNK + 1:
        return _Sort.BYTES, data[1:], 0
    if data.nbytes == _TAKEN.size and data[0] == _Sort.TAKEN:
        return _Sort.TAKEN, data[:0], _TAKEN.unpack(data)[1]
    if data.nbytes == 1 and data[0] == _Sort.END:
        return _Sort.END, data[:0], 0
    raise AbortError(peer, "sent something that is no part of a relayed link")


async def _next(talk: Conversation) -> Buffer:
    while True:
        try:
            return (await talk.receive(timeout=_QUIET_SECONDS)).payload
        except PeerTimeoutError:
            continue


async def _end(talk: Conversation) -> None:
    """Tell the other side that the stream has ended, if it can still be told."""
    try:
        await talk.send(1, bytes([_Sort.END]), timeout=0.1)
    except PeerError:
        pass
    finally:
        talk.close()


class Carrier:
    """One end of a stream. Make it inside a running loop.

    >>> from tacit.mpc.transport.frame import Channel
    >>> from tacit.mpc.transport.memory import memory_pair
    >>> from tacit.mpc.transport.mux import Mux
    >>> async def talk() -> bytes:
    ...     here, there = (Mux(link) for link in memory_pair("node 0", "node 1"))
    ...     a, b = (Carrier(mux.open(Channel(bytes(16)))) for mux in (here, there))
    ...     await a.send(b"hello")
    ...     said = await b.receive()
    ...     await a.close()
    ...     assert await b.receive() == b""
    ...     for each in (here, there):
    ...         await each.close()
    ...     return said
    >>> asyncio.run(talk())
    b'hello'
    """

    def __init__(self, talk: Conversation, /) -> None:
        self._talk = talk
        self._under_way = self._waiting = 0
        self._chunks: deque[bytes] = deque()
        self._changed = asyncio.Event()
        self._ended = False
        self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        try:
            while True:
                sort, data, taken = _read(await _next(self._talk), peer=self._talk.peer)
                if sort is _Sort.END:
                    return
                self._waiting += data.nbytes
                self._under_way -= taken
                if self._waiting > WINDOW or self._under_way < 0:
                    return
                if data.nbytes:
                    self._chunks.append(bytes(data))
                self._changed.set()
        except PeerError:
            pass  # like an end: whoever reads finds that the stream is over
        finally:
            self._ended = True
            self._changed.set()

    async def _until_changed(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def send(self, data: bytes, /) -> None:
        """Send at most `CHUNK` bytes, once the other end has room for them."""
        while not self._ended and self._under_way + len(data) > WINDOW:
            await self._until_changed()
        if self._ended:
            raise PeerLostError(self._talk.peer, "the relayed link has ended")
        self._under_way += len(data)
        await self._talk.send(1, bytes([_Sort.BYTES]) + data, timeout=_SECONDS)

    async def receive(self) -> bytes:
        """The next bytes; none at the end."""
        while not self._chunks and not self._ended:
            await self._until_changed()
        if not self._chunks:
            return b""
        chunk = self._chunks.popleft()
        self._waiting -= len(chunk)
        if not self._ended:
            await self._talk.send(1, _TAKEN.pack(_Sort.TAKEN, len(chunk)), timeout=_SECONDS)
        return chunk

    async def close(self) -> None:
        """End the stream."""
        if self._listening.cancel():
            await asyncio.gather(self._listening, return_exceptions=True)
        self._ended = True
        self._changed.set()
        await _end(self._talk)


class Passage:
    """A stream between two others that goes through us."""

    def __init__(self, one: Conversation, other: Conversation, /) -> None:
        self._ends = (one, other)
        self._under_way = {one: 0, other: 0}
        self.passed = 0
        """Bytes that went through, both ways."""

    async def run(self) -> str:
        """Pass everything on until an end or its link ends it; says why it did."""
        one, other = self._ends
        pumps = [asyncio.ensure_future(self._pump(*way)) for way in ((one, other), (other, one))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            return next(pump.result() for pump in pumps if pump.done())
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            await asyncio.gather(*map(_end, self._ends))

    async def _pump(self, source: Conversation, to: Conversation) -> str:
        try:
            while True:
                payload = await _next(source)
                sort, data, taken = _read(payload, peer=source.peer)
                if sort is _Sort.END:
                    return f"{source.peer} ended it"
                self._under_way[source] += data.nbytes
                self._under_way[to] -= taken
                if self._under_way[source] > WINDOW or self._under_way[to] < 0:
                    return f"{source.peer} does not keep to what may be under way"
                self.passed += data.nbytes
                await to.send(1, payload, timeout=_SECONDS)
        except PeerError as error:
            return str(error)
