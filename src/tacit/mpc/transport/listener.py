"""The port of a node: accepts pinned certificates; closes and logs other connections.

A handshake takes milliseconds, unless a client delays it on purpose. So when too many are under
way, the oldest of the address with the most is dropped: slow strangers cannot block the port.
"""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, cast

from tacit.mpc.transport import Identity, TlsLink, not_accepted

HANDSHAKE_SECONDS = 5.0
FRAME_SECONDS = 30.0
MOST_HANDSHAKES = 64
"""The limit of unauthenticated connections at the same time."""
MOST_PER_ADDRESS = 32
"""The limit of those from one address."""


def address_of(peername: object, /) -> str:
    """The origin of a connection: an IPv4 address, or the /64 network of an IPv6 one.

    >>> address_of(("192.0.2.7", 1234)), address_of(("2001:db8::7", 1234, 0, 0))
    ('192.0.2.7', '2001:db8::')
    """
    host = str(peername[0]) if isinstance(peername, tuple) and peername else str(peername)
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return str(address)
    # A host with one IPv6 address usually has its whole /64 network.
    return str(ipaddress.ip_network((int(address), 64), strict=False).network_address)


class _Pending(asyncio.Protocol):
    """A TCP connection that is not authenticated yet."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._listener.begin_handshake(cast(asyncio.Transport, transport))


class _Handshake(NamedTuple):
    address: str
    where: str
    transport: asyncio.Transport


class _ServerContexts:
    """The TLS context of new links, made again when one of its certificates has changed."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity
        self._made_of = self._materials()
        self._context = identity.context(server=True)

    def _materials(self) -> tuple[object, ...]:
        own = (self._identity.certificate, self._identity.key)
        stamps = [(each.stat().st_mtime_ns, each.stat().st_ino) for each in own if each.exists()]
        return (*stamps, *self._identity.peers.values())

    def current(self) -> ssl.SSLContext:
        """The context that fits the files as they are now."""
        materials = self._materials()
        if materials != self._made_of:
            try:
                self._context = self._identity.context(server=True)
            except (OSError, ssl.SSLError):
                return self._context  # somebody is just replacing a certificate and its key
            self._made_of = materials
        return self._context


class Listener:
    """Accepts links over TLS; `accept` gets those whose certificate is pinned.

    asyncio's own TLS server does not report failed handshakes, which a node's log must.
    """

    def __init__(
        self,
        identity: Identity,
        accept: Callable[[TlsLink], None],
        reject: Callable[[str, str], None],
        *,
        limit: int,
    ) -> None:
        self._identity, self._accept, self._reject = identity, accept, reject
        self._limit = limit
        self._contexts = _ServerContexts(identity)
        self._handshakes: dict[asyncio.Task[None], _Handshake] = {}
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Pending(self), host, port)

    def begin_handshake(self, transport: asyncio.Transport) -> None:
        """Authenticate a new connection in its own task."""
        peername = transport.get_extra_info("peername")
        handshake = _Handshake(address_of(peername), str(peername), transport)
        # Room is made before the handshake begins: it costs a private-key operation.
        self._make_room(handshake.address)
        task = asyncio.get_running_loop().create_task(self._shake_hands(transport, handshake.where))
        # Insertion order is age: the first of an address is the oldest.
        self._handshakes[task] = handshake
        task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    def _make_room(self, address: str) -> None:
        counts = Counter(handshake.address for handshake in self._handshakes.values())
        if counts[address] >= MOST_PER_ADDRESS:
            crowded = address
        elif len(self._handshakes) >= MOST_HANDSHAKES:
            crowded = counts.most_common(1)[0][0]
        else:
            return
        oldest = next(task for task, each in self._handshakes.items() if each.address == crowded)
        handshake = self._handshakes.pop(oldest)
        oldest.cancel()
        # Here and not in the task, which may not even have begun.
        handshake.transport.abort()
        self._reject(handshake.where, "the TLS handshake was too slow, and others waited")

    async def _shake_hands(self, transport: asyncio.Transport, where: str) -> None:
        loop = asyncio.get_running_loop()
        admitted: list[TlsLink] = []
        link = TlsLink(
            self._identity, None, admitted.append, limit=self._limit, frame_timeout=FRAME_SECONDS
        )
        try:
            tls = await loop.start_tls(
                transport,
                link,
                self._contexts.current(),
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
        except asyncio.CancelledError:
            transport.abort()
            raise
        except ssl.SSLCertVerificationError as error:
            self._reject(where, not_accepted(error))
            transport.abort()
            return
        except (OSError, ssl.SSLError) as error:
            self._reject(where, f"the TLS handshake failed ({error})")
            transport.abort()
            return
        if tls is None:
            self._reject(where, "the connection ended in the TLS handshake")
            return
        link.connection_made(tls)
        if link.peer == "an unknown peer":
            self._reject(where, "the certificate is not pinned")
        else:
            self._accept(link)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._handshakes):
            task.cancel()
        await asyncio.gather(*self._handshakes, return_exceptions=True)
