"""Many slow strangers at a node's port, and a peer that wants to come in."""

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
    turned_away: list[str] = []

    async def attack() -> None:
        arrived: asyncio.Queue[TlsLink] = asyncio.Queue()
        door = listener.Listener(
            Identity(server.certificate, server.key, {"node 1": client.pem}),
            arrived.put_nowait,
            lambda where, why: turned_away.append(why),
            limit=1 << 20,
        )
        await door.start("127.0.0.1", 0)
        assert door._server is not None
        port = door._server.sockets[0].getsockname()[1]
        strangers = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        identity = Identity(client.certificate, client.key, {"node 0": server.pem})
        link = await connect("127.0.0.1", port, peer="node 0", identity=identity, timeout=3)
        async with asyncio.timeout(3):
            there = await arrived.get()
        assert there.peer == "node 1"
        assert len(door._handshakes) <= min(8, per_address)
        # Those that made room are closed, not forgotten.
        async with asyncio.timeout(3):
            assert await strangers[0][0].read() == b""
        for _, writer in strangers:
            writer.close()
        await link.close()
        await there.close()
        await door.close()

    run(attack())
    assert turned_away.count("the TLS handshake was too slow, and others waited") >= 12


def test_the_address_with_most_handshakes_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MOST_HANDSHAKES", 3)
    turned_away: list[str] = []

    class Connection(asyncio.Transport):
        def abort(self) -> None:
            pass

    async def work() -> None:
        door = object.__new__(listener.Listener)
        door._turned_away = lambda where, why: turned_away.append(where)
        door._handshakes = {}
        for host, where in [("a", "first"), ("b", "second"), ("b", "third")]:
            task = asyncio.ensure_future(asyncio.sleep(0))
            door._handshakes[task] = listener._Knock(host, where, Connection())
        door._make_room("c")

    run(work())
    assert turned_away == ["second"]
