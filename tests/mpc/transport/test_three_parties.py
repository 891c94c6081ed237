"""A whole evaluation over real links, and what faults make of it."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import AbortError, FrameError, MpcError, PeerTimeoutError
from tacit.mpc import (
    Best,
    Context,
    FitnessBound,
    Spec,
    agree_epoch,
    collect,
    evaluate,
    open_session,
)
from tacit.mpc.disclose.node import cost as evaluation_cost
from tacit.mpc.local import deal_integers
from tacit.mpc.shares import party_name
from tacit.mpc.transport import (
    HEADER_BYTES,
    Faults,
    FaultyLink,
    Identity,
    Link,
    Mux,
    TlsLink,
    connect,
    make_certificate,
    memory_pair,
)
from tests.mpc.disclose.twin import disclose
from tests.mpc.transport.tls_server import serve

F = np.array([5, -7, 5, 0, 3, 9])
BOUND, BEST = FitnessBound(-10, 10), "value"
Links = list[dict[int, Link]]


async def parties(links: Links, text: str, timeout: float, patience: float = 1.0) -> list[Any]:
    """What each party returns or raises; the coordinator waits longer, by a factor."""
    shares, spec = deal_integers(F), Spec.parse(text)
    best: Best = "value"

    async def party(me: int) -> Any:
        muxes = {peer: Mux(link) for peer, link in links[me].items()}
        try:
            epoch = await agree_epoch(me, muxes, timeout=timeout) if me < 3 else None
            context = Context(b"agreement", 0, 1, 0, b"request")
            async with open_session(
                context,
                me=me,
                muxes=muxes,
                epoch=epoch,
                timeout=timeout * (patience if me == 3 else 1.0),
            ) as session:
                if me == 3:
                    return await collect(session, len(F), spec=spec, bound=BOUND, best=best)
                await evaluate(session, shares[me], spec=spec, bound=BOUND, best=best)
                return session.sent
        except MpcError as error:
            return error
        finally:
            for mux in muxes.values():
                await mux.close()

    return list(await asyncio.gather(*(party(me) for me in range(4))))


def in_memory(faults: dict[tuple[int, int], Faults]) -> Links:
    links: Links = [{} for _ in range(4)]
    for a in range(4):
        for b in range(a):
            first, second = memory_pair(party_name(a), party_name(b))
            links[a][b], links[b][a] = first, second
    for (sender, receiver), fault in faults.items():
        links[sender][receiver] = FaultyLink(links[sender][receiver], fault)
    return links


async def over_tls(folder: Path) -> tuple[Links, list[asyncio.Server]]:
    pems = {}
    for i in range(4):
        pems[i], key = make_certificate(party_name(i))
        (folder / f"{i}.pem").write_text(pems[i])
        (folder / f"{i}.key").write_text(key)
    identities = [
        Identity(
            folder / f"{i}.pem",
            folder / f"{i}.key",
            {party_name(j): pems[j] for j in range(4) if j != i},
        )
        for i in range(4)
    ]
    links: Links = [{} for _ in range(4)]
    servers = []
    for b in range(3):
        arrived: asyncio.Queue[TlsLink] = asyncio.Queue()
        server = await serve("127.0.0.1", 0, arrived.put_nowait, identity=identities[b])
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        for a in range(b + 1, 4):
            links[a][b] = await connect(
                "127.0.0.1", port, peer=party_name(b), identity=identities[a]
            )
            links[b][a] = await asyncio.wait_for(arrived.get(), 5)
            assert links[b][a].peer == party_name(a)
    return links, servers


@pytest.mark.parametrize("text", ["none", "order", "quantiles:2", "top:2", "buckets:3", "above:50"])
def test_a_whole_evaluation_over_tls(text: str, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        links, servers = await over_tls(tmp_path)
        try:
            return await parties(links, text, 10)
        finally:
            for server in servers:
                server.close()

    *nodes, outcome = asyncio.run(work())
    assert outcome.labels.tolist() == disclose(F, text).tolist()
    assert outcome.best_value == 9
    declared = evaluation_cost(len(F), spec=Spec.parse(text), bound=BOUND, best="value")
    assert (outcome.rounds, tuple(nodes)) == (declared.rounds, declared.sent)


def test_a_slow_network_changes_nothing() -> None:
    everywhere = {(a, b): Faults(delay=0.002) for a in range(3) for b in range(4) if a != b}
    outcome = asyncio.run(parties(in_memory(everywhere), "order", 10))[3]
    assert outcome.labels.tolist() == disclose(F, "order").tolist()


def test_a_node_that_stalls_is_named_by_whoever_waits_for_it() -> None:
    stalled = {(1, b): Faults(stall_after=2) for b in (0, 2, 3)}
    said = asyncio.run(parties(in_memory(stalled), "order", 0.2, patience=20))
    assert all(isinstance(said[i], MpcError) for i in (0, 2, 3))
    assert any(isinstance(e, PeerTimeoutError) and e.peer == "node 1" for e in said)


@pytest.mark.parametrize("node", [0, 1, 2])
def test_the_coordinator_is_told_who_stalled(node: int) -> None:
    """It waits longer than the nodes, so their notice comes first."""
    stalled = {(node, b): Faults(stall_after=3) for b in range(4) if b != node}
    said = asyncio.run(parties(in_memory(stalled), "order", 0.2, patience=20))
    assert isinstance(said[3], AbortError)
    assert said[3].peer == party_name(node)
    assert "failed in this evaluation, says node" in str(said[3])


def test_a_coordinator_that_gives_up_blames_nobody() -> None:
    slow = {(a, b): Faults(delay=0.05) for a in range(3) for b in range(3) if a != b}
    said = asyncio.run(parties(in_memory(slow), "order", 5, patience=0.01))
    assert isinstance(said[3], PeerTimeoutError)
    assert {error.peer for error in said[:3]} == {"the coordinator"}


@pytest.mark.parametrize("frame", [1, 2, 3])
def test_a_dropped_frame_ends_the_evaluation(frame: int) -> None:
    faults = {(2, 1): Faults(drop=frozenset({frame}))}
    said = asyncio.run(parties(in_memory(faults), "order", 0.2, patience=20))
    named = [e for e in said if isinstance(e, AbortError | PeerTimeoutError)]
    assert any(e.peer == "node 2" for e in named)


def test_a_corrupt_header_ends_the_evaluation() -> None:
    said = asyncio.run(parties(in_memory({(0, 1): Faults(corrupt={2: 1})}), "order", 0.2))
    assert isinstance(said[1], FrameError)
    assert said[1].peer == "node 0"


@pytest.mark.parametrize("text", ["none", "order", "top:2"])
def test_noise_is_refused_by_the_coordinator(text: str) -> None:
    """Flipped bytes in what it receives are no label and no fitness that there could be."""
    faults = {(0, 3): Faults(corrupt={0: HEADER_BYTES + 3, 1: HEADER_BYTES + 3})}
    outcome = asyncio.run(parties(in_memory(faults), text, 1))[3]
    assert isinstance(outcome, AbortError)
    assert "the answer is noise" in str(outcome)
