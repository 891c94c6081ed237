"""Links for tests: over TLS to a plain server, and through a third that may do what it likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tacit.mpc.transport import (
    FRAME_LIMIT,
    Carrier,
    Channel,
    FrameKind,
    Identity,
    Link,
    Mux,
    Passage,
    TlsLink,
    link_inside,
    make_certificate,
    memory_pair,
)


def identities_of(
    folder: Path, names: Sequence[str], *, known: Sequence[str] = ()
) -> dict[str, Identity]:
    """Fresh certificates; each pins those of the others, or of the others that are known."""
    pems = {}
    for name in names:
        pems[name], key = make_certificate(name)
        (folder / f"{name}.pem").write_text(pems[name])
        (folder / f"{name}.key").write_text(key)
    return {
        name: Identity(
            folder / f"{name}.pem",
            folder / f"{name}.key",
            {peer: pems[peer] for peer in known or names if peer != name},
        )
        for name in names
    }


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


CHANNEL = Channel(bytes(16), kind=FrameKind.RELAY)
LIMIT = 1 << 20


@dataclass
class Relayed:
    here: TlsLink
    there: TlsLink
    passage: Passage
    ended: asyncio.Task[str]
    """Why the third has ended it."""
    muxes: list[Mux]
    """Of the ends to the third, then of the third to them."""


@asynccontextmanager
async def through_a_third(
    identities: dict[str, Identity],
    *,
    meddling: Callable[[Link], Link] = lambda link: link,
    watched: Callable[[Link], Link] = lambda link: link,
    names: tuple[str, str] = ("node 0", "node 1"),
) -> AsyncIterator[Relayed]:
    """`meddling` is what the third does to what it passes on to the second end."""
    pairs = [memory_pair(name, "node 2") for name in names]
    ends = [Mux(watched(link)) for link, _ in pairs]
    middle = [Mux(meddling(link) if at else link) for at, (_, link) in enumerate(pairs)]
    passage = Passage(*(mux.open(CHANNEL) for mux in middle))
    ended = asyncio.ensure_future(passage.run())
    try:
        made = [
            asyncio.ensure_future(
                link_inside(
                    Carrier(mux.open(CHANNEL)),
                    peer=names[1 - at],
                    identity=identities[names[at]],
                    server=bool(at),
                    limit=LIMIT,
                )
            )
            for at, mux in enumerate(ends)
        ]
        found = await asyncio.gather(*made, return_exceptions=True)
        for each in found:
            if isinstance(each, BaseException):
                raise each
        here, there = (each for each in found if isinstance(each, TlsLink))
        yield Relayed(here, there, passage, ended, [*ends, *middle])
        await here.close()
        await there.close()
    finally:
        for mux in [*ends, *middle]:
            await mux.close()
        await asyncio.wait_for(ended, 5)
