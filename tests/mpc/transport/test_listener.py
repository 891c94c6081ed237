"""Many slow unauthenticated connections at a node's port, and a peer that connects."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tacit.errors import PeerError
from tacit.identity.certificates import CertificateFiles, new_certificate
from tacit.mpc.transport import Identity, TlsLink, connect, listener, make_certificate


async def listening(
    server: CertificateFiles,
    client: CertificateFiles,
    arrived: asyncio.Queue[TlsLink],
    rejected: list[str],
) -> tuple[listener.Listener, int]:
    """A listener that knows the client, and its port."""
    node_port = listener.Listener(
        Identity(server.certificate, server.key, {"node 1": client.pem}),
        arrived.put_nowait,
        lambda where, why: rejected.append(why),
        limit=1 << 20,
    )
    await node_port.start("127.0.0.1", 0)
    assert node_port._server is not None
    return node_port, node_port._server.sockets[0].getsockname()[1]


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
        node_port, port = await listening(server, client, arrived, rejected)
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

    asyncio.run(attack())
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

    asyncio.run(work())
    assert rejected == ["second"]


def shake_hands(server: CertificateFiles, client: CertificateFiles, pinned: str) -> tuple[str, str]:
    """What the dialler and the listener say of a link, empty if they have one."""
    rejected: list[str] = []

    async def dial() -> str:
        arrived: asyncio.Queue[TlsLink] = asyncio.Queue()
        node_port, port = await listening(server, client, arrived, rejected)
        identity = Identity(client.certificate, client.key, {"node 0": pinned})
        try:
            link = await connect("127.0.0.1", port, peer="node 0", identity=identity, timeout=3)
            async with asyncio.timeout(3):
                there = asyncio.ensure_future(arrived.get())
                lost = asyncio.ensure_future(link.receive(timeout=3))
                await asyncio.wait([there, lost], return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                lost.result()
            lost.cancel()
            await asyncio.gather(link.close(), there.result().close())
        except PeerError as error:
            return error.what
        finally:
            await node_port.close()
        return ""

    return asyncio.run(dial()), "; ".join(rejected)


def expired(name: str, folder: Path) -> CertificateFiles:
    files = CertificateFiles(folder / f"{name}.pem", folder / f"{name}.tls.key")
    pem, secret = make_certificate(name, days=-0.01)
    files.certificate.write_text(pem)
    files.key.write_text(secret)
    return files


def test_an_expired_certificate_is_called_so_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, other = new_certificate("node-0", tmp_path), new_certificate("node-1", tmp_path)
    old = expired("old", tmp_path)
    remedy = "has expired; its owner renews it with tacit keys rotate"
    said, _ = shake_hands(old, good, old.pem)
    assert said.startswith(f"shows a certificate that {remedy}")
    monkeypatch.setattr("tacit.mpc.transport.tls.has_expired", lambda pem: False)
    _, noted = shake_hands(good, old, good.pem)
    assert noted == f"shows a certificate that {remedy}"
    monkeypatch.undo()
    said, noted = shake_hands(good, old, good.pem)
    assert "our certificate has expired; renew it with tacit keys rotate" in said
    assert noted == ""
    said, _ = shake_hands(good, other, other.pem)
    assert "shows a certificate that is not the pinned one" in said
    assert "if it was rotated, put the new .pem in place of the old one" in said


def test_a_party_with_two_certificates_may_show_either(tmp_path: Path) -> None:
    old, new = new_certificate("old", tmp_path), new_certificate("new", tmp_path)
    client = new_certificate("node-1", tmp_path)
    for server in (old, new):
        assert shake_hands(server, client, old.pem + new.pem)[0] == ""
