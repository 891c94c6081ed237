"""Idle connections: how many there may be, and for how long.

The web server waits for a request as long as its client likes, and so do TLS handshakes, almost.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from tacit.service.api.gate import network_of

HEAD_SECONDS = 10.0
"""The longest time for a handshake, and for the head of a request on an open connection."""
GOODBYE_SECONDS = 5.0
MOST_CONNECTIONS = 4000
"""In total; one more is asked to retry later."""


def connection_class(most: int | None, /) -> type[asyncio.Protocol]:
    """The protocol class of the web server; `most` connections per address, None for no limit."""
    network = lru_cache(maxsize=2 * MOST_CONNECTIONS)(network_of)

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        """Ends unless its client asks for something."""

        _too_slow: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            # Few connections are few of anybody's.
            if most is not None and len(self.connections) > most and self._neighbours() > most:
                transport.abort()
            else:
                self._wait_for_head()

        def _neighbours(self) -> int:
            """Connections of the same address, web sockets among them."""
            mine = _address(self)
            return sum(network(_address(each)) == network(mine) for each in self.connections)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait_for_head()
            else:
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            if self._too_slow is None:
                self._too_slow = self.loop.call_later(HEAD_SECONDS, self._end)

        def _stop_waiting(self) -> None:
            if self._too_slow is not None:
                self._too_slow.cancel()
                self._too_slow = None

        def _end(self) -> None:
            # A web socket has the connection by now, if it was asked for.
            # Before Python 3.11.4 a TLS transport that was lost and then closed cannot be aborted.
            with suppress(AttributeError):
                if self.transport.get_protocol() is self:
                    self.transport.abort()

    return Connection


def _address(connection: Any) -> str:  # noqa: ANN401 - of HTTP or of a web socket
    return connection.client[0] if connection.client else "unknown"


class ImpatientLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers do not wait for handshakes and good-byes as long as usual."""

    async def create_server(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *places: Any,  # noqa: ANN401 - asyncio's own
        **options: Any,  # noqa: ANN401 - asyncio's own
    ) -> asyncio.Server:
        """A server, as ever but for its timeouts."""
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", HEAD_SECONDS)
            options.setdefault("ssl_shutdown_timeout", GOODBYE_SECONDS)
        return await super().create_server(protocol_factory, *places, **options)


def allow_many_files() -> int:
    """Raise the limit of open files to what the system allows; returns it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most
