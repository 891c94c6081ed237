"""Many slow unauthenticated connections at a node's port, and a peer that connects."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tacit.engine.identity.certificates import new_certificate
from tacit.mpc.transport import Identity, TlsLink, connect, listener
from tests.engine.agreed_cluster import run


@pytest.mark.parametrize("per_address", [4, 1000])
def test_slow_handshakes_keep_no_peer_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, per_address: int
) -> None:
    monkeypatch.setattr(listener, "MOST_HANDSHAKES", 8)
    monkeypatch.setattr(listener, "MOST_PER_ADDRESS", per_address)
    server, client = new_certificate("node-0", tmp_path), new_certificate("node-1", tmp_path)
    rejected: list[str] = []

    async def attack() -> None:
        arrived: asyncio.Queue[TlsLink] = asyncio.Queue()
        node_port = listener.Listener(
            Identity(server.certificate, server.key, {"node 1": client.pem}),
            arrived.put_nowait,
            lambda where, why: rejected.append(why),
            limit=1 << 20,
        )
        await node_port.start("127.0.0.1", 0)
        assert node_port._server is not None
        port = node_port._server.sockets[0].getsockname()[1]
        strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        identity = Identity(client.certificate, client.key, {"node 0": server.pem})
        link = await connect("127.0.0.1", port, peer="node 0", identity=identity, timeout=3)
        async with asyncio.timeout(3):
            there = await arrived.get()
        assert there.peer == "node 1"
        assert len(node_port._handshakes) <= min(8, per_address)
        # Those that made room are closed, not forgotten.
        async with asyncio.timeout(3):
            assert await strangers[0][0].read() == b""
        for _, writer in strangers:
            writer.close()
        await link.close()
        await there.close()
        await node_port.close()

    run(attack())
    assert rejected.count("the TLS handshake was too slow, and others waited") >= 12


def test_the_address_with_most_handshakes_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MOST_HANDSHAKES", 3)
    rejected: list[str] = []

    class Connection(asyncio.Transport):
        def abort(self) -> None:
            pass

    async def work() -> None:
        node_port = object.__new__(listener.Listener)
        node_port._reject = lambda where, why: rejected.append(where)
        node_port._handshakes = {}
        for host, where in [("a", "first"), ("b", "second"), ("b", "third")]:
            task = asyncio.ensure_future(asyncio.sleep(0))
            node_port._handshakes[task] = listener._Handshake(host, where, Connection())
        node_port._make_room("c")

    run(work())
    assert rejected == ["second"]
