"""Frames are put together from bytes as they come, and their memory is bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import FrameError
from tacit.identity.certificates import new_certificate
from tacit.mpc.transport import FrameBudget, Identity, Mux, TlsLink, connect, tls
from tacit.mpc.transport.frame import (
    HEADER_BYTES,
    STAGED_BYTES,
    Channel,
    Frame,
    FrameReader,
    Header,
    encode,
)
from tacit.mpc.transport.listener import Listener
from tests.mpc.transport.links import identities_of, serve

LIMIT = 3 * STAGED_BYTES
SIZES = st.one_of(
    st.integers(0, 200),
    st.sampled_from(
        [STAGED_BYTES - HEADER_BYTES, STAGED_BYTES - 1, STAGED_BYTES, STAGED_BYTES + 1, LIMIT]
    ),
)


def sent(sizes: list[int]) -> tuple[list[Header], bytes]:
    headers = [
        Header(Channel(bytes(16)), bytes(8), depth=1, sequence=k, length=size)
        for k, size in enumerate(sizes)
    ]
    return headers, b"".join(
        encode(header) + bytes([header.sequence % 251 + 1]) * header.length for header in headers
    )


def cut(reader: FrameReader) -> list[Frame]:
    found: list[Frame] = []
    while True:
        reader.begin("node 1")
        frame = reader.frame()
        if frame is None:
            return found
        found.append(frame)


@given(st.lists(SIZES, max_size=8), st.lists(st.integers(1, 2 * STAGED_BYTES), min_size=1))
def test_frames_do_not_depend_on_how_their_bytes_arrive(
    sizes: list[int], pieces: list[int]
) -> None:
    headers, stream = sent(sizes)
    reader, frames, at, turn = FrameReader(limit=LIMIT), [], 0, 0
    while at < len(stream):
        room = reader.room()
        count = min(len(room), pieces[turn % len(pieces)], len(stream) - at)
        assert count
        room[:count] = stream[at : at + count]
        reader.took(count)
        at, turn = at + count, turn + 1
        frames += cut(reader)
        whole = sum(HEADER_BYTES + len(bytes(frame.payload)) for frame in frames)
        assert reader.is_inside is (whole < at)
    assert [frame.header for frame in frames] == headers
    for header, frame in zip(headers, frames, strict=True):
        assert bytes(frame.payload) == bytes([header.sequence % 251 + 1]) * header.length


def test_a_large_payload_is_read_in_place_and_a_small_one_with_what_follows() -> None:
    _, stream = sent([LIMIT])
    reader = FrameReader(limit=LIMIT)
    reader.room()[:HEADER_BYTES] = stream[:HEADER_BYTES]
    reader.took(HEADER_BYTES)
    body = reader.begin("node 1")
    assert body is not None
    reader.room()[:2] = b"ab"
    assert bytes(body[:2]) == b"ab"

    _, small = sent([3, 4])
    reader = FrameReader(limit=LIMIT)
    reader.room()[: len(small)] = small
    reader.took(len(small))
    assert [frame.header.length for frame in cut(reader)] == [3, 4]


def test_what_is_no_frame_is_refused_with_its_header() -> None:
    reader = FrameReader(limit=10)
    reader.room()[:HEADER_BYTES] = sent([11])[1][:HEADER_BYTES]
    reader.took(HEADER_BYTES)
    with pytest.raises(FrameError, match="announced a frame of 11 bytes; the limit is 10"):
        reader.begin("node 1")


FRAME = 4 << 20
TALK = Channel(bytes(16))


def two_parties(folder: Path) -> tuple[Identity, Identity]:
    made = identities_of(folder, ["a", "b"])
    return made["a"], made["b"]


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
