"""Links through a third party: a stream of bytes on a conversation with it, and TLS inside.

Each end keeps at most a window of bytes that the other has not taken yet, so nobody holds more than
that for a slow one. The party between passes frames on, and ends the stream if an end exceeds it.

Inside, the same certificates are pinned as on a direct link, and the same `TlsLink` reads the
frames: the party between sees ciphertext only. What it cuts, changes or leaves out ends the link,
as TLS notices it.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections import deque
from contextlib import suppress
from enum import IntEnum
from typing import Any

from tacit.errors import AbortError, MpcError, PeerError, PeerLostError, PeerTimeoutError
from tacit.mpc.transport.frame import FRAME_LIMIT, Buffer
from tacit.mpc.transport.mux import Conversation
from tacit.mpc.transport.tls import Identity, TlsLink, not_accepted

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
    >>> from tacit.mpc.transport.link import memory_pair
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
                # More than the window, or more taken than was sent: the other end breaks the rules
                # that bound our memory.
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
            # Only now may the other end send more: taken means out of our memory.
            await self._talk.send(1, _TAKEN.pack(_Sort.TAKEN, len(chunk)), timeout=_SECONDS)
        return chunk

    async def close(self) -> None:
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
            # Either end may end the stream; the other pump is then of no use.
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
                # The party between enforces the window as well: it must not hold more than that for
                # anybody.
                if self._under_way[source] > WINDOW or self._under_way[to] < 0:
                    return f"{source.peer} does not keep to what may be under way"
                self.passed += data.nbytes
                await to.send(1, payload, timeout=_SECONDS)
        except PeerError as error:
            return str(error)


_RECORD = 1 << 14


class _TlsTransport(asyncio.Transport):
    """What a `TlsLink` needs of its transport, on a carried stream."""

    def __init__(
        self, carrier: Carrier, link: TlsLink, context: ssl.SSLContext, server: bool
    ) -> None:
        super().__init__()
        self._carrier, self._link = carrier, link
        self._arrived, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._to_send, server_side=server)
        self._high = CHUNK
        self._is_full = self._closing = self._gone = False
        self._may_read, self._has_more = asyncio.Event(), asyncio.Event()
        self._may_read.set()
        self._tasks: list[asyncio.Task[None]] = []

    async def shake_hands(self) -> None:
        """The handshake; then the link has its transport."""
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                await self._flush()
                await self._take()
            except ssl.SSLError:
                await self._flush()  # so that the other side hears why
                raise
        await self._flush()
        self._link.connection_made(self)
        loop = asyncio.get_running_loop()
        if not self._gone:
            self._tasks = [loop.create_task(self._read()), loop.create_task(self._write())]

    async def _take(self) -> None:
        data = await self._carrier.receive()
        if not data:
            raise PeerLostError(self._link.peer, "the relayed link has ended")
        self._arrived.write(data)

    async def _flush(self) -> None:
        while data := self._to_send.read(CHUNK):
            await self._carrier.send(data)
            if self._is_full and self._to_send.pending <= self._high // 2:
                self._is_full = False
                self._link.resume_writing()

    async def _read(self) -> None:
        try:
            while not self._gone:
                await self._may_read.wait()
                buffer = self._link.get_buffer(-1)
                try:
                    count = self._tls.read(len(buffer), buffer)
                except ssl.SSLWantReadError:
                    await self._take()
                    await asyncio.sleep(0)  # a fast peer does not keep others waiting
                    continue
                if not count:
                    self._link.eof_received()
                    break
                self._link.buffer_updated(count)  # type: ignore[arg-type]
            self._finish(None)
        except (ssl.SSLError, MpcError, PeerError) as error:
            is_farewell = isinstance(error, ssl.SSLZeroReturnError)
            if is_farewell:
                self._link.eof_received()
            self._finish(None if is_farewell else error)

    async def _write(self) -> None:
        try:
            while not self._closing or self._to_send.pending:
                await self._has_more.wait()
                self._has_more.clear()
                await self._flush()
            self._finish(None)
        except (MpcError, PeerError) as error:
            self._finish(error)

    def _finish(self, error: Exception | None) -> None:
        if self._gone:
            return
        self._gone = self._closing = True
        # A reader that waits must see that the link is gone.
        self._may_read.set()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        loop = asyncio.get_running_loop()
        self._ending = loop.create_task(self._carrier.close())
        # As asyncio does it: never from inside a call of the link itself.
        loop.call_soon(self._link.connection_lost, error)

    # What asyncio calls a transport.

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - asyncio's
        return self._tls if name == "ssl_object" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:  # noqa: ARG002
        """From how many unsent bytes on the link waits."""
        self._high = CHUNK if high is None else high

    def write(self, data: Buffer) -> None:
        """Encrypt; it is sent as fast as the other end takes it."""
        if self._closing:
            return
        rest = memoryview(data).cast("B")
        while rest.nbytes:
            rest = rest[self._tls.write(rest[:_RECORD]) :]
        self._has_more.set()
        if self._to_send.pending > self._high and not self._is_full:
            self._is_full = True
            self._link.pause_writing()

    def pause_reading(self) -> None:
        self._may_read.clear()

    def resume_reading(self) -> None:
        self._may_read.set()

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        """Send what is left, and end."""
        if self._closing:
            return
        self._closing = True
        with suppress(ssl.SSLError):
            self._tls.unwrap()  # our part of the farewell is written; nobody waits for the other's
        self._has_more.set()

    def abort(self) -> None:
        self._finish(None)


async def link_inside(
    carrier: Carrier,
    *,
    peer: str,
    identity: Identity,
    server: bool,
    timeout: float = 5.0,
    limit: int = FRAME_LIMIT,
    frame_timeout: float = 30.0,
) -> TlsLink:
    """A link to the peer at the other end of a stream, which must show its pinned certificate."""
    link = TlsLink(identity, peer, lambda _: None, limit=limit, frame_timeout=frame_timeout)
    transport = _TlsTransport(carrier, link, identity.context(server=server), server)
    try:
        async with asyncio.timeout(timeout):
            await transport.shake_hands()
    except BaseException as error:
        await carrier.close()
        match error:
            case TimeoutError():
                what = f"did not answer on a relayed link for {timeout:g} s"
                raise PeerTimeoutError(peer, what) from None
            case ssl.SSLCertVerificationError():
                raise PeerLostError(peer, f"{not_accepted(error)} (on a relayed link)") from error
            case ssl.SSLError():
                raise PeerLostError(peer, f"the relayed link does not hold ({error})") from error
        raise
    failure = link.failure
    if failure is not None:
        raise failure
    return link
