"""A link through a third: it sees ciphertext, holds little, and can do no more than end it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tacit.errors import PeerError, PeerLostError
from tacit.mpc.transport import (
    Buffer,
    Carrier,
    Channel,
    Frame,
    Header,
    Identity,
    Link,
    Mux,
    encode,
    memory_pair,
)
from tacit.mpc.transport.relay import CHUNK, WINDOW
from tests.mpc.transport.links import CHANNEL, LIMIT, identities_of, through_a_third
from tests.mpc.transport.test_conformance import run

SECRET = b"a share of somebody's weights " * 100


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    return identities_of(tmp_path_factory.mktemp("certificates"), ["node 0", "node 1", "node 2"])


def header(length: int) -> bytes:
    return encode(Header(Channel(bytes(16), evaluation=1), bytes(8), 1, 0, length))


class Overheard:
    """A link of an end to the third, and all that the third gets on it."""

    heard = b""

    def __init__(self, link: Link) -> None:
        self._link = link

    @property
    def peer(self) -> str:
        return self._link.peer

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:
        Overheard.heard += bytes(payload)
        await self._link.send(header, payload, timeout=timeout)

    async def receive(self, *, timeout: float | None) -> Frame:
        return await self._link.receive(timeout=timeout)

    async def close(self) -> None:
        await self._link.close()


def test_the_third_sees_nothing_of_what_it_passes_on(identities: dict[str, Identity]) -> None:
    async def work() -> None:
        Overheard.heard = b""
        async with through_a_third(identities, watched=Overheard) as between:
            await between.here.send(header(len(SECRET)), SECRET, timeout=5)
            assert bytes((await between.there.receive(timeout=5)).payload) == SECRET
            assert len(SECRET) < between.passage.passed <= len(Overheard.heard)
            assert not any(SECRET[at : at + 16] in Overheard.heard for at in range(30))
            assert header(len(SECRET)) not in Overheard.heard

    run(work())


class Meddler(Overheard):
    """What the third passes on, a bit changed once it is told to."""

    now = False

    async def send(self, header: bytes, payload: Buffer, *, timeout: float) -> None:
        data = bytearray(payload)
        if Meddler.now and len(data) > 100:
            data[-1] ^= 1
        await self._link.send(header, data, timeout=timeout)


@pytest.mark.parametrize("handshake", [True, False])
def test_what_the_third_changes_ends_the_link(
    identities: dict[str, Identity], handshake: bool
) -> None:
    async def work() -> None:
        Meddler.now = handshake
        async with through_a_third(identities, meddling=Meddler) as between:
            await between.here.send(header(len(SECRET)), SECRET, timeout=5)
            assert bytes((await between.there.receive(timeout=5)).payload) == SECRET
            Meddler.now = True
            await between.here.send(header(len(SECRET)), SECRET, timeout=5)
            await between.there.receive(timeout=5)

    with pytest.raises(PeerLostError, match="relayed link" if handshake else "BAD_RECORD_MAC"):
        run(work())


def test_the_third_cannot_take_the_place_of_an_end(identities: dict[str, Identity]) -> None:
    """It has a pinned certificate too, but that of another node."""

    async def work() -> None:
        disguised = {**identities, "node 1": identities["node 2"]}
        disguised["node 1"] = replace(identities["node 2"], peers={**identities["node 1"].peers})
        with pytest.raises(PeerLostError, match="the certificate of node 2"):
            async with through_a_third(disguised):
                pass

    run(work())


def test_a_slow_end_keeps_the_third_from_holding_much(identities: dict[str, Identity]) -> None:
    async def work() -> None:
        async with through_a_third(identities) as between:
            between.there._transport.pause_reading()  # type: ignore[union-attr]
            sending = asyncio.ensure_future(flood(between.here))
            while between.passage.passed < WINDOW - CHUNK:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            # What came with the handshake was taken, and what was waited for already.
            assert between.passage.passed < WINDOW + 2 * CHUNK
            between.there._transport.resume_reading()  # type: ignore[union-attr]
            for _ in range(64):
                assert len((await between.there.receive(timeout=5)).payload) == LIMIT
            await sending

    run(work())


async def flood(link: Link) -> None:
    for _ in range(64):
        await link.send(header(LIMIT), bytes(LIMIT), timeout=10)


def test_an_end_that_sends_more_than_may_be_under_way_ends_it(
    identities: dict[str, Identity],
) -> None:
    async def work() -> None:
        async with through_a_third(identities) as between:
            between.there._transport.pause_reading()  # type: ignore[union-attr]
            carrier = between.here._transport._carrier  # type: ignore[union-attr]
            for _ in range(2 * WINDOW // CHUNK):
                carrier._under_way = 0
                try:
                    await carrier.send(bytes(CHUNK))
                except PeerError:
                    break
            assert "node 0 does not keep" in await between.ended
            with pytest.raises(PeerLostError):
                await between.here.receive(timeout=5)

    run(work())


@pytest.mark.parametrize("said", [b"", b"\x07", b"\x01\x00", bytes(CHUNK + 2), b"\x02 "])
def test_garbage_ends_a_stream(said: bytes) -> None:
    async def work() -> None:
        here, there = (Mux(link) for link in memory_pair("node 0", "node 1"))
        carrier, other = Carrier(here.open(CHANNEL)), there.open(CHANNEL)
        await other.send(1, said, timeout=1)
        assert await carrier.receive() == b""
        with pytest.raises(PeerLostError):
            await carrier.send(b"more")
        await carrier.close()
        for mux in (here, there):
            await mux.close()

    run(work())


@pytest.mark.parametrize("which", range(4))
def test_a_link_to_the_third_that_breaks_ends_it(
    identities: dict[str, Identity], which: int
) -> None:
    async def work() -> None:
        async with through_a_third(identities) as between:
            await between.muxes[which].close()
            for link in (between.here, between.there):
                with pytest.raises(PeerLostError):
                    await link.receive(timeout=5)

    run(work())
