"""Frames that are announced and not sent: they take no memory, and count with the handshake too."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tacit.identity.certificates import new_certificate
from tacit.mpc.transport import Channel, FrameBudget, Header, Identity, TlsLink, connect, encode
from tacit.mpc.transport.listener import Listener

LENGTH = 60 << 20
LINKS = 20
ANNOUNCED = encode(Header(Channel(bytes(16)), bytes(8), depth=1, sequence=0, length=LENGTH))


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def test_announced_frames_count_whenever_they_come_and_take_nothing(tmp_path: Path) -> None:
    server, client = new_certificate("node-0", tmp_path), new_certificate("node-1", tmp_path)
    budget, arrived = FrameBudget(2 * LENGTH), asyncio.Queue[TlsLink]()

    def accept(link: TlsLink) -> None:
        link.share(budget)
        arrived.put_nowait(link)

    async def announce() -> None:
        pinned = Identity(server.certificate, server.key, {"node 1": client.pem})
        port = Listener(pinned, accept, lambda where, why: None, limit=LENGTH)
        await port.start("127.0.0.1", 0)
        assert port._server is not None
        number = port._server.sockets[0].getsockname()[1]
        identity = Identity(client.certificate, client.key, {"node 0": server.pem})
        before, here, there = resident(), [], []
        for _ in range(LINKS):
            # What is sent at once comes with the end of the handshake, or just behind it.
            link = await connect("127.0.0.1", number, peer="node 0", identity=identity)
            await link.send(ANNOUNCED, b"x", timeout=1)
            here.append(link)
            there.append(await arrived.get())
        while any(link._reader.announced is None for link in there):
            await asyncio.sleep(0.001)
        assert LENGTH < budget.used < 3 * LENGTH
        assert sum(link._waits for link in there) >= LINKS - 2
        assert resident() - before < 3 * LENGTH
        for link in [*here, *there]:
            await link.close()
        await port.close()

    asyncio.run(announce())
