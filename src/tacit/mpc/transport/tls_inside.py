"""A link over TLS inside a stream that somebody else carries: who carries it sees ciphertext only.

The same certificates are pinned as on a direct link, and the same `TlsLink` reads the frames. What
is cut, changed or left out on the way ends the link, as TLS notices it.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Any

from tacit.errors import MpcError, PeerError, PeerLostError, PeerTimeoutError
from tacit.mpc.transport.carrier import CHUNK, Carrier
from tacit.mpc.transport.frame import FRAME_LIMIT, Buffer
from tacit.mpc.transport.tls import Identity, TlsLink, not_accepted

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
                    break
                self._link.buffer_updated(count)  # type: ignore[arg-type]
            self._finish(None)
        except (ssl.SSLError, MpcError, PeerError) as error:
            self._finish(None if isinstance(error, ssl.SSLZeroReturnError) else error)

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
        self._may_read.set()
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        loop = asyncio.get_running_loop()
        self._ending = loop.create_task(self._carrier.close())
        loop.call_soon(self._link.connection_lost, error)

    # What asyncio calls a transport.

    def get_extra_info(self, name: str, default: Any = None) -> Any:  # noqa: ANN401 - asyncio's
        """The TLS object, for the peer's certificate."""
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
        """Take no more; the other end is slowed down."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """Take more again."""
        self._may_read.set()

    def is_closing(self) -> bool:
        """Whether nothing more is sent."""
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
        """End at once."""
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
