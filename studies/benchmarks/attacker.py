"""What an attacking platform does to three nodes, each until its process is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from studies.benchmarks.two_platforms import Platform, assignment, plans
from tacit.engine.agreement.terms import (
    Agreement,
    Ownership,
    ParticipantTerms,
    agreement_hash,
    canonical,
)
from tacit.engine.coordinator.coordinator import Coordinator
from tacit.engine.coordinator.evaluations import Evaluations
from tacit.engine.coordinator.node_client import NodeClient
from tacit.engine.local.engine import all_sign
from tacit.engine.wire.attempt import NO_ATTEMPT
from tacit.engine.wire.messages import TALK, Agree, Evaluate, FetchLog, Submit
from tacit.errors import TacitError
from tacit.mpc.transport import Header, encode

SMALL, POPULATION = 20, 100
LARGE, LARGE_POPULATION = 1000, 1000
LARGEST = 60 << 20


async def idle(_: Platform) -> None:
    """Nothing, to compare with."""
    await asyncio.Event().wait()


def _crowded(agreement: Agreement, count: int) -> Agreement:
    names = [f"{number:05d}" for number in range(count)]
    owners = [Ownership(name, [row]) for row, name in enumerate(names)]
    return replace(
        agreement,
        problem=replace(agreement.problem, rows=count, columns=count),
        participants=[ParticipantTerms(name, f"{at:064x}") for at, name in enumerate(names)],
        objectives=[replace(agreement.objectives[0], owners=owners)],
    )


async def _always(client: NodeClient, make: Callable[[], object]) -> None:
    """Ask the same again and again, whatever the answer is."""
    while True:
        with suppress(TacitError, TimeoutError):
            await client.connect()
            await (await client.ask(make()))  # type: ignore[arg-type]
            continue
        await asyncio.sleep(0.01)


async def unsigned_agreements(attacker: Platform) -> None:
    """8 MB of agreement with 60,000 names and no signature, on four links to each node."""
    agreement, _ = attacker.draft(assignment(SMALL), POPULATION)
    request = Agree(agreement=canonical(_crowded(agreement, 60_000)), signatures={})
    clients = [client for _ in range(4) for client in attacker.clients()]
    await asyncio.gather(*(_always(client, lambda: request) for client in clients))


async def signed_agreements(attacker: Platform) -> None:
    """Agreements of 600,000 forbidden pairs each, signed by participants of its own invention."""

    def make() -> Agree:
        agreement, keys = attacker.draft(assignment(1000), POPULATION)
        pairs = [(row, column) for row in range(1000) for column in range(600)]
        large = replace(agreement, problem=replace(agreement.problem, forbidden=pairs))
        return Agree(agreement=canonical(large), signatures=all_sign(large, keys))

    await asyncio.gather(*(_always(client, make) for client in attacker.clients()))


async def repeated_pairs(attacker: Platform) -> None:
    """A pair that is forbidden a million times, and 4.5 kB of candidates against them."""
    agreement, keys = attacker.draft(assignment(SMALL), 225)
    many = replace(agreement, problem=replace(agreement.problem, forbidden=[(0, 0)] * 1_000_000))
    request = Agree(agreement=canonical(many), signatures=all_sign(many, keys))
    asked = _request(many, plans(SMALL, 225).astype(np.uint8).tobytes())
    clients = attacker.clients()
    await asyncio.gather(
        *(_always(client, lambda: request) for client in clients),
        *(_always(client, lambda: asked) for client in clients),
    )


def _request(agreement: Agreement, candidates: bytes) -> Evaluate:
    return Evaluate(
        agreement=agreement_hash(agreement),
        objective=0,
        number=1,
        epoch=1,
        attempt=1,
        disclosure="top:15",
        best="nothing",
        parent_attempt=NO_ATTEMPT,
        candidates=candidates,
    )


async def refusals(attacker: Platform) -> None:
    """Requests that are refused, 200 at a time: each wants a line in the log of its agreement."""
    agreement, signatures, sealed = attacker.agree(assignment(SMALL), POPULATION)
    coordinator = Coordinator(agreement, attacker.clients())
    await coordinator.start(signatures, sealed, within=60)
    wrong = replace(_request(agreement, plans(SMALL, 50).astype(np.uint8).tobytes()), number=77)
    while True:
        for client in coordinator.clients:
            with suppress(TacitError):
                await client.connect()
                asked = [await client.ask(wrong) for _ in range(200)]
                await asyncio.gather(*asked, return_exceptions=True)


async def large_evaluations(attacker: Platform) -> None:
    """1,000 plans of 1,000 x 1,000, one population after the other."""
    agreement, signatures, sealed = attacker.agree(assignment(LARGE), LARGE_POPULATION)
    coordinator = Coordinator(agreement, attacker.clients())
    await coordinator.start(signatures, sealed, within=300)
    evaluations, population = Evaluations(coordinator, 0), plans(LARGE, LARGE_POPULATION)
    while True:
        with suppress(TacitError):
            await evaluations.evaluate(population, until=None)


async def unread_pages(attacker: Platform) -> None:
    """Pages of a log, asked for on 32 links and never read."""
    agreement, signatures, sealed = attacker.agree(assignment(SMALL), POPULATION)
    coordinator = Coordinator(agreement, attacker.clients())
    await coordinator.start(signatures, sealed, within=60)
    request = FetchLog(agreement=agreement_hash(agreement))

    async def one(client: NodeClient) -> None:
        while True:
            with suppress(TacitError):
                await client.connect()
                client.mux.link._transport.pause_reading()  # type: ignore[attr-defined]
                for _ in range(200):
                    await client.ask(request)
            await asyncio.sleep(0.1)

    await asyncio.gather(*(one(client) for _ in range(32) for client in attacker.clients()))


async def large_frames(attacker: Platform) -> None:
    """Boxes of 60 MB that belong to no agreement, on two links to each node."""
    request = Submit(agreement=bytes(32), manifest=b"", signature=b"", box=bytes(LARGEST))
    clients = [client for _ in range(2) for client in attacker.clients()]
    await asyncio.gather(*(_always(client, lambda: request) for client in clients))


async def announced_frames(attacker: Platform) -> None:
    """Frames of 60 MB of which 1 kB is sent, on 48 links to each node."""
    head = encode(Header(TALK, bytes(8), depth=1, sequence=0, length=LARGEST))

    async def announce(client: NodeClient) -> None:
        while True:
            with suppress(TacitError):
                await client.connect()
                await client.mux.link.send(head, bytes(1000), timeout=1)
                while client.connected:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)

    await asyncio.gather(*(announce(client) for _ in range(48) for client in attacker.clients()))


ATTACKS: dict[str, Callable[[Platform], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        idle,
        unsigned_agreements,
        signed_agreements,
        repeated_pairs,
        refusals,
        large_evaluations,
        unread_pages,
        large_frames,
        announced_frames,
    )
}


def attack(name: str, folder: str) -> None:
    """The attacker's process."""
    asyncio.run(ATTACKS[name](Platform(Path(folder), "attacker")))  # type: ignore[arg-type]
