"""Links that share a budget: what does not fit is not read, and nobody is cut off for that."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tacit.mpc.transport import Channel, FrameBudget, Identity, Mux, TlsLink, connect, tls
from tacit.mpc.transport.certificate import make_certificate
from tests.mpc.transport.tls_server import serve

FRAME = 4 << 20
TALK = Channel(bytes(16))


def two_parties(folder: Path) -> tuple[Identity, Identity]:
    made = {}
    for name in ("a", "b"):
        pem, key = make_certificate(name)
        (folder / f"{name}.pem").write_text(pem)
        (folder / f"{name}.key").write_text(key)
        made[name] = pem
    return (
        Identity(folder / "a.pem", folder / "a.key", {"b": made["b"]}),
        Identity(folder / "b.pem", folder / "b.key", {"a": made["a"]}),
    )


def test_frames_of_several_links_wait_for_room(tmp_path: Path) -> None:
    a, b = two_parties(tmp_path)

    async def work() -> None:
        budget, arrived = FrameBudget(FRAME + FRAME // 2), asyncio.Queue[TlsLink]()
        server = await serve("127.0.0.1", 0, arrived.put_nowait, identity=a, frame_timeout=0.05)
        port = server.sockets[0].getsockname()[1]
        here, there = [], []
        for _ in range(4):
            here.append(Mux(await connect("127.0.0.1", port, peer="a", identity=b)))
            link = await arrived.get()
            link.share(budget)
            there.append(Mux(link))
        for mux in here:
            await mux.open(TALK).send(1, bytes(FRAME), timeout=5)
        reading = {asyncio.ensure_future(mux.open(TALK).receive(timeout=20)) for mux in there}
        while reading:
            done, reading = await asyncio.wait(reading, return_when=asyncio.FIRST_COMPLETED)
            # One at a time; the others wait longer than a frame may take that is being sent.
            await asyncio.sleep(0.1)
            assert len(done) == 1
            assert not any(other.done() for other in reading)
            assert FRAME < budget.used < 2 * FRAME
            assert len(done.pop().result().payload) == FRAME
        for mux in [*here, *there]:
            await mux.close()
        server.close()
        del reading, here, there, mux
        await asyncio.sleep(0)
        assert budget.used < FRAME

    asyncio.run(work())


def test_small_frames_wait_too_though_they_came_with_others(tmp_path: Path) -> None:
    a, b = two_parties(tmp_path)

    async def work() -> None:
        budget, arrived = FrameBudget(2000), asyncio.Queue[TlsLink]()
        server = await serve("127.0.0.1", 0, arrived.put_nowait, identity=a)
        port = server.sockets[0].getsockname()[1]
        here = Mux(await connect("127.0.0.1", port, peer="a", identity=b))
        there = await arrived.get()
        there.share(budget)
        talk = here.open(TALK)
        for number in range(20):
            await talk.send(1, bytes([number]) * 400, timeout=5)
        frames = []
        for number in range(20):
            frames.append(await there.receive(timeout=5))
            assert bytes(frames[-1].payload[:1]) == bytes([number])
            assert budget.used < 2000
            assert there._inbox.pending < 2000
            if len(frames) == 2:  # no third has room
                await asyncio.sleep(0.01)
                assert there._inbox.pending == 0
                frames.clear()
        await here.close()
        await there.close()
        server.close()

    asyncio.run(work())


def test_who_reads_nothing_for_a_while_does_not_blame_the_sender(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "_READ_AHEAD", 1 << 20)
    a, b = two_parties(tmp_path)
    size = 20_001  # so that a part of a frame has come when reading pauses
    count = (16 << 20) // size

    async def work() -> None:
        arrived = asyncio.Queue[TlsLink]()
        server = await serve("127.0.0.1", 0, arrived.put_nowait, identity=a, frame_timeout=0.05)
        port = server.sockets[0].getsockname()[1]
        here = Mux(await connect("127.0.0.1", port, peer="a", identity=b))
        there, talk = await arrived.get(), here.open(TALK)

        async def send() -> None:
            for _ in range(count):
                await talk.send(1, bytes(size), timeout=20)

        sending = asyncio.ensure_future(send())
        while not there._is_paused:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.15)
        for _ in range(count):
            assert len((await there.receive(timeout=20)).payload) == size
        await sending
        await here.close()
        await there.close()
        server.close()

    asyncio.run(work())
