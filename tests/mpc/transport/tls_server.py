"""A plain TLS server for tests of links; nodes listen with `Listener`."""

import asyncio
from collections.abc import Callable

from tacit.mpc.transport import FRAME_LIMIT, Identity, TlsLink


async def serve(
    host: str,
    port: int,
    accept: Callable[[TlsLink], None],
    *,
    identity: Identity,
    limit: int = FRAME_LIMIT,
    handshake_timeout: float = 5.0,
    frame_timeout: float = 30.0,
) -> asyncio.Server:
    def ready(link: TlsLink) -> None:
        if link._inbox.failure is None:
            accept(link)

    def make() -> TlsLink:
        return TlsLink(identity, None, ready, limit=limit, frame_timeout=frame_timeout)

    return await asyncio.get_running_loop().create_server(
        make,
        host,
        port,
        ssl=identity.context(server=True),
        ssl_handshake_timeout=handshake_timeout,
    )
