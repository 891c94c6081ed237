"""A link that was lost is closed as any other, also with Python 3.11.2, which Debian 12 has."""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import PeerLostError
from tacit.identity.certificates import new_certificate
from tacit.mpc.transport import Identity, TlsLink, connect, listener


def abort_as_before(transport: Any) -> None:
    """As it was until Python 3.11.3: without a look at whether there still is a protocol."""
    transport._closed = True
    transport._ssl_protocol._abort()


def test_a_lost_link_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sslproto._SSLProtocolTransport, "abort", abort_as_before)
    server, client = new_certificate("node-0", tmp_path), new_certificate("node-1", tmp_path)

    async def lose() -> None:
        arrived: asyncio.Queue[TlsLink] = asyncio.Queue()
        own = Identity(server.certificate, server.key, {"node 1": client.pem})
        port = listener.Listener(own, arrived.put_nowait, lambda where, why: None, limit=1 << 20)
        await port.start("127.0.0.1", 0)
        assert port._server is not None
        number = port._server.sockets[0].getsockname()[1]
        identity = Identity(client.certificate, client.key, {"node 0": server.pem})
        link = await connect("127.0.0.1", number, peer="node 0", identity=identity, timeout=10)
        (await arrived.get()).abort()
        with pytest.raises(PeerLostError):
            await link.receive(timeout=10)
        await link.close()
        await link.close()
        link.abort()
        await port.close()

    asyncio.run(lose())
