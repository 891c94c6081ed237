"""TCP with mutual TLS 1.3 and pinned certificates.

A peer is identified by its certificate, byte for byte: no authority, no host names. Everything runs
on one event loop, since a TLS connection must never be used from two threads.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from tacit.errors import (
    FrameError,
    LinkClosedError,
    PeerError,
    PeerLostError,
    PeerTimeoutError,
    VersionError,
)
from tacit.mpc.transport.certificate import has_expired, split_certificates
from tacit.mpc.transport.frame import FRAME_LIMIT, Buffer, Frame, FrameBudget, FrameReader
from tacit.mpc.transport.link import Inbox

PROTOCOL = 1
"""The version of the nodes' protocol; it goes up with each change that older nodes do not speak."""
_WRITE_AHEAD = 32 << 20  # bytes a sender may be ahead of the network before it waits
_WRITE_AT_ONCE = 1 << 16  # bytes of a payload that go with their header in one call
_CLOSE_TIMEOUT = 0.25  # seconds for a peer to answer the TLS close, so that none can block
_EXPIRED = 10  # OpenSSL's X509_V_ERR_CERT_HAS_EXPIRED
_READ_AHEAD = 16 << 20  # bytes that may lie unread before the peer is slowed down


def _spoken() -> str:
    """Return what TLS negotiates as the application's protocol (ALPN): our version or nothing."""
    return f"tacit-nodes/{PROTOCOL}"


@dataclass(frozen=True, slots=True)
class Identity:
    """The own certificate and key files, and each peer's certificate in PEM by its name."""

    certificate: Path
    key: Path
    peers: Mapping[str, str]

    def context(self, *, server: bool) -> ssl.SSLContext:
        """TLS 1.3 only, both sides show a certificate, and only pinned ones are accepted."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # Peers are known by their certificates, byte for byte; names prove nothing here.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_cert_chain(self.certificate, self.key)
        context.load_verify_locations(cadata="\n".join(self.peers.values()))
        # Within the handshake, so that both sides know before a frame is sent.
        context.set_alpn_protocols([_spoken()])
        return context

    def name_of(self, certificate: bytes | None) -> str | None:
        """The peer whose pinned certificate (DER) this is, or None."""
        for name, pem in self.peers.items():
            if certificate in [ssl.PEM_cert_to_DER_cert(each) for each in split_certificates(pem)]:
                return name
        return None


def not_accepted(error: ssl.SSLCertVerificationError) -> str:
    """What was wrong with a certificate, and what to do about it."""
    if error.verify_code == _EXPIRED:
        return "shows a certificate that has expired; its owner renews it with tacit keys rotate"
    return (
        f"shows a certificate that is not the pinned one ({error.verify_message}); if it was "
        "rotated, put the new .pem in place of the old one"
    )


class TlsLink(asyncio.BufferedProtocol):
    """A link over TLS; `connect` and `serve` make them."""

    def __init__(
        self,
        identity: Identity,
        expected: str | None,
        ready: Callable[[TlsLink], None],
        *,
        limit: int,
        frame_timeout: float,
    ) -> None:
        self._identity, self._expected, self._ready = identity, expected, ready
        self._frame_timeout = frame_timeout
        self._reader = FrameReader(limit=limit)
        self._inbox = Inbox(expected or "an unknown peer")
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._budget: FrameBudget | None = None
        self._waits = self._is_paused = False
        self._was_told = False

    def share(self, budget: FrameBudget) -> None:
        """Read no more frames than have room beside those of other links.

        A frame that is under way counts too: its header may come with the end of the handshake,
        before anybody could know whose link this is.
        """
        self._budget = budget
        announced = self._reader.announced
        if announced is not None:
            self._has_room(announced)

    def limit_unsent(self, most: int) -> None:
        """Wait with what is sent while more than so many bytes of it are not taken yet."""
        if self._transport is not None:
            self._transport.set_write_buffer_limits(high=most)

    @property
    def peer(self) -> str:
        return self._inbox.peer

    @property
    def failure(self) -> PeerError | None:
        """Why the link has ended, if it has."""
        return self._inbox.failure

    # Callbacks of asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """After the handshake: look up whose certificate it was."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_AHEAD)
        tls = transport.get_extra_info("ssl_object")
        name = self._identity.name_of(tls.getpeercert(binary_form=True))
        if name is None or (self._expected is not None and name != self._expected):
            shown = "an unknown certificate" if name is None else f"the certificate of {name}"
            self._fail(PeerLostError(self.peer, f"showed {shown}; compare the pinned certificates"))
        else:
            self._inbox.peer = name
            if tls.selected_alpn_protocol() != _spoken():
                what = (
                    "speaks another version of the nodes' protocol than this side, which speaks "
                    f"version {PROTOCOL}; install the same release of tacit on both"
                )
                self._inbox.fail(VersionError(name, what))
                # In order: cut off, the other side might not come to the end of the handshake,
                # where it finds the same.
                self._transport.close()
        self._ready(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        """Take the bytes that arrived; complete frames go to the inbox."""
        self._reader.took(nbytes)
        self._take_frames()

    def _take_frames(self) -> None:
        reader = self._reader
        while not self._waits:
            try:
                announced = reader.begin(self.peer)
            except FrameError as error:
                self._fail(error)
                return
            # Counted when its header has come: a frame that is announced and never sent must count
            # too.
            if announced is not None and not self._has_room(announced):
                return
            frame = reader.frame()
            if frame is None:
                break
            self._stop_timer()
            self._inbox.put(frame)
        # Unread frames pile up: stop reading, so that the sender is slowed down by the network.
        if self._inbox.pending > _READ_AHEAD:
            self._pause()
        # A peer that sends half a frame and stops would hold its memory for ever.
        self._start_timer()

    def _start_timer(self) -> None:
        """Who does not read cannot say that the other is slow."""
        if self._timer is None and self._reader.is_inside and not self._is_paused:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._frame_timeout, self._too_slow)

    def _pause(self) -> None:
        if self._transport is not None:
            self._is_paused = True
            self._transport.pause_reading()
            self._stop_timer()

    def _has_room(self, announced: memoryview) -> bool:
        """Count a payload; if it does not fit a budget, nothing is read until it does."""
        if self._budget is None or self._budget.count(announced, self._go_on):
            return True
        self._waits = self._transport is not None
        self._pause()
        return not self._waits

    def _go_on(self) -> None:
        self._waits = False
        self._take_frames()
        self._read_on()

    def _read_on(self) -> None:
        ready = not self._waits and self._inbox.pending <= _READ_AHEAD // 2
        if ready and self._transport is not None and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
            self._start_timer()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        what = f"took more than {self._frame_timeout:g} s for one frame"
        self._fail(FrameError(self.peer, what))

    def _fail(self, error: PeerError) -> None:
        self._inbox.fail(error)
        self.abort()

    def eof_received(self) -> None:
        """Note whether the peer says that it sends no more; the link ends."""
        # asyncio calls this at every end. TLS itself knows whether the alert came that closes a
        # connection: one that breaks, or whose process is killed, ends without it, and nobody in
        # between can forge it.
        tls = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        if tls is not None:
            with suppress(ssl.SSLError):
                self._was_told = not tls.read(1)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass the error to the receiver."""
        self._stop_timer()
        self._reader.forget()
        if self._was_told:
            self._inbox.fail(LinkClosedError(self.peer, "closed the link"))
        else:
            reason = f" ({exc})" if exc is not None else ""
            what = f"closed the link without a word{reason}; check that it still runs"
            self._inbox.fail(PeerLostError(self.peer, what))
        # Whoever waits to write or to close goes on, and finds the failure.
        self._gone.set()
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # The interface of a link.

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:
        """Write the frame; waits only while the send buffer is full."""
        transport = self._transport
        if transport is None or self._gone.is_set() or transport.is_closing():
            failure = self._inbox.failure
            what = failure.what if failure is not None else "the link is closed; connect again"
            raise PeerLostError(self.peer, what)
        # The peer reads slower than we write: wait, instead of buffering without limit.
        if not self._writable.is_set():
            try:
                async with asyncio.timeout(timeout):
                    await self._writable.wait()
            except TimeoutError:
                what = f"took nothing from us for {timeout:g} s"
                raise PeerTimeoutError(self.peer, what) from None
        if memoryview(payload).nbytes <= _WRITE_AT_ONCE:
            transport.write(b"".join((header, payload)))
        else:
            transport.write(header)
            transport.write(payload)

    async def receive(self, *, timeout: float | None) -> Frame:
        frame = await self._inbox.get(timeout=timeout)
        self._read_on()
        return frame

    def abort(self) -> None:
        """Cut the link off at once."""
        if self._transport is not None:
            # Before Python 3.11.4 a transport that was lost and then closed cannot be aborted.
            with suppress(AttributeError):
                self._transport.abort()

    async def close(self) -> None:
        """Send what is left and close; a peer that does not answer is cut off."""
        if self._transport is None:
            return
        self._transport.close()
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT):
                await self._gone.wait()
        except TimeoutError:
            pass
        finally:
            # Also when a caller has no time to wait and cancels this.
            self.abort()


async def connect(
    host: str,
    port: int,
    *,
    peer: str,
    identity: Identity,
    timeout: float = 5.0,
    limit: int = FRAME_LIMIT,
    frame_timeout: float = 30.0,
) -> TlsLink:
    """A link to the peer at this address, which must show the certificate pinned for it."""
    loop = asyncio.get_running_loop()

    def make() -> TlsLink:
        return TlsLink(identity, peer, lambda link: None, limit=limit, frame_timeout=frame_timeout)

    try:
        context = identity.context(server=False)
        if has_expired(identity.certificate.read_text()):
            # The other side would close the link without a word.
            what = (
                "takes no link, since our certificate has expired; renew it with tacit keys rotate"
            )
            raise PeerLostError(peer, what)
        async with asyncio.timeout(timeout):
            _, link = await loop.create_connection(
                make, host, port, ssl=context, server_hostname=""
            )
    except TimeoutError:
        what = f"did not answer at {host}:{port} for {timeout:g} s"
        raise PeerTimeoutError(peer, what) from None
    except ssl.SSLCertVerificationError as error:
        raise PeerLostError(peer, f"{not_accepted(error)} (at {host}:{port})") from error
    except OSError as error:
        raise PeerLostError(peer, f"cannot be reached at {host}:{port} ({error})") from error
    failure = link.failure
    if failure is not None:
        await link.close()
        raise failure
    return link
