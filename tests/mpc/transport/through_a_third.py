"""Two ends whose link goes through a third, which may do to it what it likes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tacit.mpc.transport import (
    Carrier,
    Channel,
    FrameKind,
    Identity,
    Link,
    Mux,
    Passage,
    TlsLink,
    link_inside,
    memory_pair,
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
