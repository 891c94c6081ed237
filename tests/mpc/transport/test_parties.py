"""A whole evaluation over real links, and what faults make of it."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.errors import AbortError, FrameError, MismatchError, MpcError, PeerTimeoutError
from tacit.mpc import (
    COORDINATOR,
    Best,
    Context,
    FitnessBound,
    Spec,
    agree_epoch,
    collect,
    evaluate,
    open_session,
)
from tacit.mpc.disclose.evaluation import cost as evaluation_cost
from tacit.mpc.local import deal_integers
from tacit.mpc.shares import party_name
from tacit.mpc.transport import (
    HEADER_BYTES,
    Faults,
    FaultyLink,
    Link,
    Mux,
    TlsLink,
    connect,
    memory_pair,
)
from tests.mpc.both import three_and_four
from tests.mpc.disclose.twin import disclose
from tests.mpc.transport.links import identities_of, serve

F = np.array([5, -7, 5, 0, 3, 9])
BOUND, BEST = FitnessBound(-10, 10), "value"
KEYS = 2
"""Frames that a node has sent each other for the keys, before the evaluation begins."""
Links = dict[int, dict[int, Link]]


def names(nodes: int) -> list[int]:
    return [*range(nodes), COORDINATOR]


async def parties(
    links: Links, text: str, timeout: float, patience: float = 1.0, hasty: int | None = None
) -> list[Any]:
    """What each party returns or raises; the coordinator waits longer, by a factor.

    If a node is hasty, every other one is as patient as the coordinator, so that it is surely the
    first to give up, however busy the machine is.
    """
    nodes = len(links) - 1
    shares, spec = deal_integers(F, nodes=nodes), Spec.parse(text)
    best: Best = "value"

    async def party(me: int) -> Any:
        muxes = {peer: Mux(link) for peer, link in links[me].items()}
        is_node = me != COORDINATOR
        patient = not is_node or hasty not in (None, me)
        mine = timeout * patience if patient else timeout
        try:
            epoch = await agree_epoch(me, muxes, timeout=mine) if is_node else None
            context = Context(b"agreement", 0, 1, 0, b"request")
            async with open_session(
                context,
                me=me,
                muxes=muxes,
                epoch=epoch,
                timeout=mine,
            ) as session:
                if not is_node:
                    return await collect(session, len(F), spec=spec, bound=BOUND, best=best)
                await evaluate(session, shares[me], spec=spec, bound=BOUND, best=best)
                return session.sent
        except MpcError as error:
            return error
        finally:
            for mux in muxes.values():
                await mux.close()

    return list(await asyncio.gather(*(party(me) for me in names(nodes))))


def in_memory(faults: dict[tuple[int, int], Faults], nodes: int = 3) -> Links:
    links: Links = {me: {} for me in names(nodes)}
    for at, a in enumerate(names(nodes)):
        for b in names(nodes)[:at]:
            first, second = memory_pair(party_name(a), party_name(b))
            links[a][b], links[b][a] = first, second
    for (sender, receiver), fault in faults.items():
        links[sender][receiver] = FaultyLink(links[sender][receiver], fault)
    return links


async def over_tls(folder: Path, nodes: int) -> tuple[Links, list[asyncio.Server]]:
    identities = identities_of(folder, [party_name(i) for i in names(nodes)])
    links: Links = {me: {} for me in names(nodes)}
    servers = []
    for b in range(nodes):
        arrived: asyncio.Queue[TlsLink] = asyncio.Queue()
        server = await serve("127.0.0.1", 0, arrived.put_nowait, identity=identities[party_name(b)])
        servers.append(server)
        port = server.sockets[0].getsockname()[1]
        for a in names(nodes)[b + 1 :]:
            links[a][b] = await connect(
                "127.0.0.1", port, peer=party_name(b), identity=identities[party_name(a)]
            )
            links[b][a] = await asyncio.wait_for(arrived.get(), 5)
            assert links[b][a].peer == party_name(a)
    return links, servers


@pytest.mark.parametrize(
    ("text", "nodes"),
    [("none", 3), ("none", 4), ("order", 3), ("order", 4), ("top:2", 3), ("above:50", 4)],
)
def test_a_whole_evaluation_over_tls(text: str, nodes: int, tmp_path: Path) -> None:
    async def work() -> list[Any]:
        links, servers = await over_tls(tmp_path, nodes)
        try:
            return await parties(links, text, 10)
        finally:
            for server in servers:
                server.close()

    *sent, outcome = asyncio.run(work())
    assert outcome.labels.tolist() == disclose(F, text).tolist()
    assert outcome.best_value == 9
    declared = evaluation_cost(nodes, len(F), spec=Spec.parse(text), bound=BOUND, best="value")
    # The greetings go with the first letters where there are any, and else as frames of their own.
    for measured, told in zip(sent, declared.sent, strict=True):
        greetings = 32 * (nodes - 1)
        assert measured - told - greetings in [HEADER_BYTES * k for k in range(nodes)]
    assert outcome.rounds - max(declared.chains[COORDINATOR]) in (0, 1)


@three_and_four
def test_a_slow_network_changes_nothing(nodes: int) -> None:
    pairs = [(a, b) for a in range(nodes) for b in names(nodes) if a != b]
    everywhere = {pair: Faults(delay=0.002) for pair in pairs}
    outcome = asyncio.run(parties(in_memory(everywhere, nodes), "order", 10))[-1]
    assert outcome.labels.tolist() == disclose(F, "order").tolist()


@three_and_four
@pytest.mark.parametrize("node", [0, 1, 2])
def test_the_coordinator_is_told_that_a_node_stalled(node: int, nodes: int) -> None:
    """It waits longer than the nodes, so their notice comes first."""
    stalled = {(node, b): Faults(stall_after=KEYS + 1) for b in range(nodes) if b != node}
    stalled[node, COORDINATOR] = Faults(stall_after=0)
    said = asyncio.run(parties(in_memory(stalled, nodes), "order", 0.2, patience=20))
    assert all(isinstance(said[i], MpcError) for i in range(nodes) if i != node)
    # Who waits for one that waits for the stalled node may give up first, and name that one.
    assert any(isinstance(e, PeerTimeoutError) for e in said)
    assert isinstance(said[-1], AbortError)
    assert "failed in this evaluation, says node" in str(said[-1])


def test_a_coordinator_that_gives_up_blames_nobody() -> None:
    slow = {(a, b): Faults(delay=0.05) for a in range(3) for b in range(3) if a != b}
    said = asyncio.run(parties(in_memory(slow), "order", 5, patience=0.01))
    assert isinstance(said[3], PeerTimeoutError)
    assert {error.peer for error in said[:3]} == {"the coordinator"}


@three_and_four
@pytest.mark.parametrize("frame", [0, 1, 2, 3])
def test_a_dropped_frame_ends_the_evaluation(frame: int, nodes: int) -> None:
    """Of the keys or of the evaluation; the next one comes in its place, or nothing."""
    faults = {(2, 1): Faults(drop=frozenset({frame}))}
    said = asyncio.run(parties(in_memory(faults, nodes), "order", 0.5, patience=20, hasty=1))
    named = [e for e in said if isinstance(e, AbortError | PeerTimeoutError)]
    assert any("node 2" in e.peer for e in named)


def test_a_corrupt_header_ends_the_evaluation() -> None:
    said = asyncio.run(parties(in_memory({(0, 1): Faults(corrupt={2: 1})}), "order", 0.2))
    assert isinstance(said[1], FrameError)
    assert said[1].peer == "node 0"


@pytest.mark.parametrize("text", ["none", "order", "top:2"])
def test_noise_from_three_nodes_is_refused_by_the_coordinator(text: str) -> None:
    """Flipped bytes in what it receives are no label and no fitness that there could be."""
    faults = {(2, COORDINATOR): Faults(corrupt={0: HEADER_BYTES + 3, 1: HEADER_BYTES + 3})}
    outcome = asyncio.run(parties(in_memory(faults), text, 1))[-1]
    assert isinstance(outcome, AbortError)
    assert "the answer is noise" in str(outcome)


@pytest.mark.parametrize("text", ["none", "order", "above:50"])
def test_noise_from_one_of_four_nodes_is_noticed_by_the_coordinator(text: str) -> None:
    faults = {(0, COORDINATOR): Faults(corrupt={0: HEADER_BYTES + 3})}
    outcome = asyncio.run(parties(in_memory(faults, 4), text, 1))[-1]
    assert isinstance(outcome, MismatchError)
    assert "node 0" in (outcome.peer, outcome.voucher)
