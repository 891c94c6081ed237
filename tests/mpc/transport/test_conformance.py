"""Conformance of every link: in memory, over TLS, relayed, or wrapped in faults that are off."""

import asyncio
import contextlib
import ssl
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from tacit.errors import (
    FrameError,
    LinkClosedError,
    PeerError,
    PeerLostError,
    PeerTimeoutError,
    VersionError,
)
from tacit.mpc.transport import (
    HEADER_BYTES,
    Channel,
    Faults,
    FaultyLink,
    Header,
    Identity,
    Link,
    TlsLink,
    connect,
    encode,
    memory_pair,
    tls,
)
from tests.mpc.transport.links import identities_of, serve, through_a_third

LIMIT = 1 << 20
Pair = tuple[Link, Link]
Maker = Callable[[], contextlib.AbstractAsyncContextManager[Pair]]


def header(length: int, *, sequence: int = 0, evaluation: int = 1) -> bytes:
    return encode(Header(Channel(bytes(16), evaluation=evaluation), bytes(8), 1, sequence, length))


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    names = ["node 0", "node 1", "stranger"]
    return identities_of(tmp_path_factory.mktemp("certificates"), names, known=names[:2])


@asynccontextmanager
async def tls_pair(
    identities: dict[str, Identity], *, frame_timeout: float = 5.0
) -> AsyncIterator[tuple[TlsLink, TlsLink]]:
    accepted: asyncio.Queue[TlsLink] = asyncio.Queue()
    server = await serve(
        "127.0.0.1",
        0,
        accepted.put_nowait,
        identity=identities["node 1"],
        limit=LIMIT,
        frame_timeout=frame_timeout,
    )
    port = server.sockets[0].getsockname()[1]
    here = await connect(
        "127.0.0.1", port, peer="node 1", identity=identities["node 0"], limit=LIMIT
    )
    there = await asyncio.wait_for(accepted.get(), 5)
    try:
        yield here, there
    finally:
        await here.close()
        await there.close()
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def memory() -> AsyncIterator[Pair]:
    yield memory_pair("node 0", "node 1", limit=LIMIT)


@asynccontextmanager
async def faulty(faults: Faults) -> AsyncIterator[Pair]:
    here, there = memory_pair("node 0", "node 1", limit=LIMIT)
    wrapped = FaultyLink(here, faults), FaultyLink(there, faults)
    yield wrapped
    for link in wrapped:
        await link.close()


@pytest.fixture(params=["memory", "tls", "faulty", "faulty-late", "faulty-tls", "relayed"])
def pair(request: pytest.FixtureRequest, identities: dict[str, Identity]) -> Maker:
    @asynccontextmanager
    async def wrapped_tls() -> AsyncIterator[Pair]:
        async with tls_pair(identities) as (here, there):
            yield FaultyLink(here, Faults()), FaultyLink(there, Faults())

    @asynccontextmanager
    async def relayed() -> AsyncIterator[Pair]:
        async with through_a_third(identities) as between:
            yield between.here, between.there

    makers: dict[str, Maker] = {
        "memory": memory,
        "tls": lambda: tls_pair(identities),
        "faulty": lambda: faulty(Faults()),
        "faulty-late": lambda: faulty(Faults(delay=0.002)),
        "faulty-tls": wrapped_tls,
        "relayed": relayed,
    }
    return makers[request.param]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_names(pair: Maker) -> None:
    async def work() -> None:
        async with pair() as (here, there):
            assert (here.peer, there.peer) == ("node 1", "node 0")

    run(work())


def test_frames_arrive_in_order_both_ways(pair: Maker) -> None:
    sizes = [0, 1, 7, 8, 52, 1000, 70_000, LIMIT, 0, 3]

    async def send(link: Link) -> None:
        for number, size in enumerate(sizes):
            payload = np.full(size, number, dtype=np.uint8).data
            await link.send(header(size, sequence=number), payload, timeout=5)

    async def receive(link: Link) -> None:
        for number, size in enumerate(sizes):
            frame = await link.receive(timeout=5)
            assert (frame.header.sequence, frame.header.length) == (number, size)
            assert bytes(frame.payload) == bytes([number]) * size

    async def work() -> None:
        async with pair() as (here, there):
            await asyncio.gather(send(here), send(there), receive(here), receive(there))

    run(work())


def test_silence_is_noticed_and_named(pair: Maker) -> None:
    async def work() -> None:
        async with pair() as (here, there):
            with pytest.raises(PeerTimeoutError, match=r"node 1: sent nothing for 0\.01 s"):
                await here.receive(timeout=0.01)
            # The link survives: silence alone is no loss.
            await there.send(header(2), b"ok", timeout=5)
            assert bytes((await here.receive(timeout=5)).payload) == b"ok"

    run(work())


def test_closing_is_noticed_on_both_sides(pair: Maker) -> None:
    async def work() -> None:
        async with pair() as (here, there):
            await here.send(header(2), b"ok", timeout=5)
            await here.close()
            await here.close()
            # What was sent before still arrives.
            assert bytes((await there.receive(timeout=5)).payload) == b"ok"
            with pytest.raises(PeerLostError, match="node 0"):
                await there.receive(timeout=5)
            with pytest.raises(PeerLostError, match="node 1"):
                await here.receive(timeout=5)
            with pytest.raises(PeerLostError, match="node 1"):
                await here.send(header(2), b"ok", timeout=5)

    run(work())


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"GET / HTTP/1.1\r\n" + bytes(HEADER_BYTES - 16), "something that is not a frame"),
        (header(LIMIT + 1), f"a frame of {LIMIT + 1} bytes; the limit is {LIMIT}"),
        (header(0)[:4] + b"\xff" + header(0)[5:], "the unknown kind 255"),
    ],
)
def test_garbage_is_refused_and_the_link_ends(pair: Maker, head: bytes, message: str) -> None:
    async def work() -> None:
        async with pair() as (here, there):
            await here.send(head, b"", timeout=5)
            with pytest.raises(FrameError, match=message) as caught:
                await there.receive(timeout=5)
            assert caught.value.peer == "node 0"
            with pytest.raises(PeerError):
                await here.receive(timeout=5)

    run(work())


def test_a_frame_that_crawls_is_cut_off(identities: dict[str, Identity]) -> None:
    async def work() -> None:
        async with tls_pair(identities, frame_timeout=0.05) as (here, there):
            await here.send(header(100), b"half", timeout=5)
            with pytest.raises(FrameError, match=r"node 0: took more than 0\.05 s for one frame"):
                await there.receive(timeout=5)

    run(work())


def test_strangers_are_refused(identities: dict[str, Identity]) -> None:
    async def work() -> None:
        accepted: list[TlsLink] = []
        server = await serve("127.0.0.1", 0, accepted.append, identity=identities["node 1"])
        port = server.sockets[0].getsockname()[1]

        async def talk() -> None:
            # In TLS 1.3 a client learns only with the first answer that it was refused.
            link = await connect("127.0.0.1", port, peer="node 1", identity=identities["stranger"])
            await link.receive(timeout=5)

        with pytest.raises(PeerError, match="node 1"):
            await talk()
        assert not accepted
        # A client that expects another peer at this address disconnects.
        both = Identity(
            identities["node 0"].certificate,
            identities["node 0"].key,
            {**identities["node 0"].peers, **identities["node 1"].peers},
        )
        with pytest.raises(PeerLostError, match="node 0: showed the certificate of node 1"):
            await connect("127.0.0.1", port, peer="node 0", identity=both)
        server.close()
        await server.wait_closed()

    run(work())


def test_nobody_there_and_nobody_who_speaks_tls(identities: dict[str, Identity]) -> None:
    async def work() -> None:
        writers: list[asyncio.StreamWriter] = []
        silent = await asyncio.start_server(lambda _, w: writers.append(w), "127.0.0.1", 0)
        port = silent.sockets[0].getsockname()[1]
        with pytest.raises(PeerTimeoutError, match="did not answer"):
            await connect(
                "127.0.0.1", port, peer="node 1", identity=identities["node 0"], timeout=0.1
            )
        silent.close()
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
        await silent.wait_closed()
        with pytest.raises(PeerLostError, match="cannot be reached"):
            await connect("127.0.0.1", port, peer="node 1", identity=identities["node 0"])

    run(work())


def test_plain_garbage_on_the_port_leaves_the_server_alone(
    identities: dict[str, Identity],
) -> None:
    async def work() -> None:
        accepted: asyncio.Queue[TlsLink] = asyncio.Queue()
        server = await serve("127.0.0.1", 0, accepted.put_nowait, identity=identities["node 1"])
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET / HTTP/1.1\r\n\r\n" * 10)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        link = await connect("127.0.0.1", port, peer="node 1", identity=identities["node 0"])
        other = await asyncio.wait_for(accepted.get(), 5)
        await link.send(header(2), b"ok", timeout=5)
        assert bytes((await other.receive(timeout=5)).payload) == b"ok"
        await link.close()
        await other.close()
        server.close()
        await server.wait_closed()

    run(work())


def test_the_protocol_is_tls_1_3(identities: dict[str, Identity]) -> None:
    async def work() -> None:
        async with tls_pair(identities) as (here, _):
            transport = here._transport
            assert transport is not None
            assert transport.get_extra_info("ssl_object").version() == "TLSv1.3"

    run(work())


@pytest.mark.parametrize("what", ["tls 1.2", "no certificate"])
def test_less_than_mutual_tls_1_3_is_refused(what: str, identities: dict[str, Identity]) -> None:
    async def work() -> None:
        accepted: list[TlsLink] = []
        server = await serve("127.0.0.1", 0, accepted.append, identity=identities["node 1"])
        port = server.sockets[0].getsockname()[1]
        if what == "tls 1.2":
            context = identities["node 0"].context(server=False)
            context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE

        async def talk() -> None:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            try:
                async with asyncio.timeout(2):
                    assert await reader.read() == b""
            finally:
                writer.transport.abort()

        with contextlib.suppress(OSError):
            await talk()
        assert not accepted
        server.close()
        await server.wait_closed()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that it is old is the point
        run(work())


@pytest.mark.parametrize("kind", ["tls", "relayed"])
def test_an_end_in_order_is_told_apart_from_a_broken_link(
    kind: str, identities: dict[str, Identity]
) -> None:
    async def work() -> None:
        for cuts in (False, True):
            if kind == "tls":
                made: Any = tls_pair(identities)
            else:
                made = through_a_third(identities)
            async with made as between:
                here, there = between if kind == "tls" else (between.here, between.there)
                if cuts:
                    there.abort()
                else:
                    await there.close()
                with pytest.raises(PeerLostError) as ended:
                    await here.receive(timeout=5)
                assert isinstance(ended.value, LinkClosedError) is not cuts

    run(work())


def test_another_version_is_refused_at_both_ends(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        accepted: asyncio.Queue[TlsLink] = asyncio.Queue()
        own = identities["node 1"]

        def make() -> TlsLink:
            return TlsLink(own, None, accepted.put_nowait, limit=LIMIT, frame_timeout=5.0)

        loop = asyncio.get_running_loop()
        server = await loop.create_server(make, "127.0.0.1", 0, ssl=own.context(server=True))
        port = server.sockets[0].getsockname()[1]
        monkeypatch.setattr(tls, "_spoken", lambda: "tacit-nodes/2")
        with pytest.raises(VersionError, match="node 1: speaks another version"):
            await connect("127.0.0.1", port, peer="node 1", identity=identities["node 0"])
        there = await asyncio.wait_for(accepted.get(), 5)
        assert isinstance(there.failure, VersionError)
        assert there.peer == "node 0"
        server.close()
        await server.wait_closed()

    run(work())
