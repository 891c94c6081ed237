"""A node's port: connections without a pinned certificate, or with garbage, are closed and logged.

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

from tacit.mpc.transport import Identity, TlsLink

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


class _Door(asyncio.Protocol):
    """A TCP connection that is not authenticated yet."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the handshake."""
        self._listener.knock(cast(asyncio.Transport, transport))


class _Knock(NamedTuple):
    address: str
    where: str
    transport: asyncio.Transport


class Listener:
    """Accepts links over TLS; `accept` gets those whose certificate is pinned.

    asyncio's own TLS server does not report failed handshakes, which a node's log must.
    """

    def __init__(
        self,
        identity: Identity,
        accept: Callable[[TlsLink], None],
        turned_away: Callable[[str, str], None],
        *,
        limit: int,
    ) -> None:
        self._identity, self._accept, self._turned_away = identity, accept, turned_away
        self._limit = limit
        self._context = identity.context(server=True)
        self._handshakes: dict[asyncio.Task[None], _Knock] = {}
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Start to listen."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Door(self), host, port)

    def knock(self, transport: asyncio.Transport) -> None:
        """Somebody connected."""
        peername = transport.get_extra_info("peername")
        knock = _Knock(address_of(peername), str(peername), transport)
        self._make_room(knock.address)
        task = asyncio.get_running_loop().create_task(self._greet(transport, knock.where))
        self._handshakes[task] = knock
        task.add_done_callback(lambda done: self._handshakes.pop(done, None))

    def _make_room(self, address: str) -> None:
        counts = Counter(knock.address for knock in self._handshakes.values())
        if counts[address] >= MOST_PER_ADDRESS:
            crowded = address
        elif len(self._handshakes) >= MOST_HANDSHAKES:
            crowded = counts.most_common(1)[0][0]
        else:
            return
        oldest = next(task for task, knock in self._handshakes.items() if knock.address == crowded)
        knock = self._handshakes.pop(oldest)
        oldest.cancel()
        # Here and not in the task, which may not even have begun.
        knock.transport.abort()
        self._turned_away(knock.where, "the TLS handshake was too slow, and others waited")

    async def _greet(self, transport: asyncio.Transport, where: str) -> None:
        loop = asyncio.get_running_loop()
        admitted: list[TlsLink] = []
        link = TlsLink(
            self._identity, None, admitted.append, limit=self._limit, frame_timeout=FRAME_SECONDS
        )
        try:
            tls = await loop.start_tls(
                transport,
                link,
                self._context,
                server_side=True,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
        except asyncio.CancelledError:
            transport.abort()
            raise
        except (OSError, ssl.SSLError) as error:
            self._turned_away(where, f"the TLS handshake failed ({error})")
            transport.abort()
            return
        if tls is None:
            self._turned_away(where, "the connection ended in the TLS handshake")
            return
        link.connection_made(tls)
        if link.peer == "an unknown peer":
            self._turned_away(where, "the certificate is not pinned")
        else:
            self._accept(link)

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
        for task in list(self._handshakes):
            task.cancel()
        await asyncio.gather(*self._handshakes, return_exceptions=True)
