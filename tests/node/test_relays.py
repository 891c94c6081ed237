"""Relays between nodes in one process, with real TLS through a third node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from tacit.errors import PeerLostError
from tacit.identity.config import NodeConfig, PeerConfig
from tacit.mpc import party_name
from tacit.mpc.transport import Identity, TlsLink, make_certificate, memory_pair
from tacit.node import links as node_links
from tacit.node import relays as node_relays
from tacit.node.links import PeerLinks
from tacit.records.events import LogEvent
from tacit.records.peer_messages import RelayComes, RelayWanted
from tacit.supervisor import Supervisor
from tests.on_nodes.agreed_cluster import run
from tests.on_nodes.deadlines import AMPLE

NODES = range(4)


@pytest.fixture(autouse=True)
def ample_handshakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who wants to shake hands does so, however long it waits for a core."""
    monkeypatch.setattr(node_relays, "HANDSHAKE_SECONDS", AMPLE)


@pytest.fixture(scope="module")
def identities(tmp_path_factory: pytest.TempPathFactory) -> list[Identity]:
    folder: Path = tmp_path_factory.mktemp("certificates")
    pems = {}
    for node in NODES:
        pems[node], key = make_certificate(party_name(node))
        (folder / f"{node}.pem").write_text(pems[node])
        (folder / f"{node}.key").write_text(key)
    return [
        Identity(
            folder / f"{node}.pem",
            folder / f"{node}.key",
            {party_name(peer): pem for peer, pem in pems.items() if peer != node},
        )
        for node in NODES
    ]


class Nodes:
    """The links of four nodes, and what they write down."""

    def __init__(self, identities: list[Identity], unwilling: int | None) -> None:
        self.events: list[tuple[int, LogEvent]] = []
        self.ended: list[tuple[int, int]] = []
        self.links = [self._make(node, identities[node], node != unwilling) for node in NODES]

    def _make(self, node: int, identity: Identity, relay: bool) -> PeerLinks:
        config = NodeConfig(
            node=node,
            listen="127.0.0.1:1",
            keys="",
            certificate="",
            tls_key="",
            data="",
            peers=[PeerConfig(peer, "127.0.0.1:1", "") for peer in NODES if peer != node],
            platforms=[],
            relay=relay,
        )
        return PeerLinks(
            config,
            identity,
            frame_limit=1 << 20,
            log=lambda event: self.events.append((node, event)),
            lost=lambda peer: self.ended.append((node, peer)),
            tasks=Supervisor(lambda name, error: pytest.fail(f"{name}: {error!r}")),
        )

    async def join(self, one: int, other: int) -> None:
        for me, peer, link in zip(
            (one, other), (other, one), memory_pair(party_name(one), party_name(other)), strict=True
        ):
            self.links[me].accept(peer, cast(TlsLink, link))
        await asyncio.sleep(0)

    async def reach(self, origin: int, to: int) -> int | None:
        """Link two nodes through a third, and say through which."""
        found = await self.links[origin].relays.reach(to)
        if found is None:
            return None
        self.links[origin].accept(to, found[0], through=found[1])
        async with asyncio.timeout(AMPLE):
            while origin not in self.links[to].current():
                await asyncio.sleep(0.01)
        return found[1]

    def said(self, node: int) -> list[str]:
        return [f"{e.name} {getattr(e, 'what', '')}" for who, e in self.events if who == node]


@asynccontextmanager
async def nodes(
    identities: list[Identity], *joined: tuple[int, int], unwilling: int | None = None
) -> AsyncIterator[Nodes]:
    made = Nodes(identities, unwilling)
    for pair in joined:
        await made.join(*pair)
    try:
        yield made
    finally:
        for links in made.links:
            await links.close()


def test_two_nodes_speak_through_a_third(identities: list[Identity]) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2)) as made:
            assert await made.reach(2, 0) == 1
            for me, peer in ((0, 2), (2, 0)):
                assert await made.links[me].lines()[peer].answers(timeout=AMPLE)
                assert made.links[me].relayed == 1
                assert not await made.links[me].is_gone(peer, grace=AMPLE)
            assert made.links[1].relays.passing == 1
            assert made.said(2)[-1] == "connected through node 1"
            assert made.said(1)[-1] == "relays to node 0"
            # The third is gone, and the link with it.
            await made.links[1].close()
            async with asyncio.timeout(AMPLE):
                while made.links[0].current() or made.links[2].current():
                    await asyncio.sleep(0.01)
            assert {(0, 2), (2, 0)} <= set(made.ended)

    run(work())


def test_who_is_reached_through_another_node_is_not_gone(
    identities: list[Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a link of its own, after whatever time, a node asks through the others."""
    monkeypatch.setattr(node_links, "QUESTIONS", 1)

    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2), (2, 3)) as made:
            for node in (2, 3):
                made.links[node]._gone_since[0] = -AMPLE
            assert not await made.links[2].is_gone(0, grace=AMPLE)
            await asyncio.sleep(0)
            assert made.links[2].relayed == 1
            # Nobody reaches it from there.
            assert await made.links[3].is_gone(0, grace=AMPLE)

    run(work())


def test_who_is_silent_on_its_link_may_answer_through_another_node(
    identities: list[Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_links, "QUESTIONS", 1)

    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2)) as made:
            here, _ = memory_pair(party_name(2), party_name(0))
            made.links[2].accept(0, cast(TlsLink, here))
            await asyncio.sleep(0)
            # Twice as long for the way through the other as for the question.
            assert not await made.links[2].is_gone(0, grace=2.0)
            await asyncio.sleep(0)
            assert made.links[2].relayed == 1

    run(work())


def test_an_operator_may_not_want_it(identities: list[Identity]) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2), unwilling=1) as made:
            assert await made.reach(2, 0) is None
            assert made.links[1].relays.passing == 0
            # Its own links may go through others all the same.
            await made.join(2, 3)
            assert await made.reach(3, 1) == 2

    run(work())


def test_no_link_goes_through_two(identities: list[Identity]) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2), (2, 3)) as made:
            assert await made.reach(2, 0) == 1
            assert await made.reach(3, 0) is None

    run(work())


def test_each_pair_has_one_link_through_a_node(identities: list[Identity]) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2)) as made:
            first = await made.links[2].relays.reach(0)
            second = await made.links[2].relays.reach(0)
            assert first is not None
            assert second is not None
            assert made.links[1].relays.passing == 1
            with pytest.raises(PeerLostError):
                await first[0].receive(timeout=AMPLE)
            await second[0].close()

    run(work())


def test_a_peer_fills_no_log_with_relays(identities: list[Identity]) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2)) as made:
            for number in range(200):
                made.links[1].relays.hear(2, RelayWanted(number, 0))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            assert made.links[1].relays.passing == 1
            assert 50 < len(made.said(1)) < 120

    run(work())


def test_who_swallows_links_is_asked_last(
    identities: list[Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (0, 2), (1, 3), (2, 3)) as made:
            through, tried = made.links[3].relays._through, list[int]()

            async def impatient(third: int, peer: int) -> TlsLink | None:
                # Only who swallows links is waited for in vain, so that may be short.
                tried.append(third)
                with monkeypatch.context() as patch:
                    patch.setattr(node_relays, "HANDSHAKE_SECONDS", 0.05 if third == 1 else AMPLE)
                    return await through(third, peer)

            with monkeypatch.context() as patch:
                patch.setattr(made.links[1].relays, "_wanted", lambda *_: None)
                patch.setattr(made.links[3].relays, "_through", impatient)
                assert [await made.reach(3, 0) for _ in range(3)] == [2, 2, 2]
            assert tried == [1, 2, 1, 2, 1, 2]
            assert [await made.reach(3, 0) for _ in range(2)] == [1, 2]

    run(work())


def test_a_third_that_stops_is_left_for_another(
    identities: list[Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_links, "ANSWER_SECONDS", 0.3)

    async def swallow(*_: object, **__: object) -> None:
        """It passes nothing on any more, and says nothing."""

    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2), (0, 3), (2, 3)) as made:
            assert await made.reach(2, 0) == 1
            monkeypatch.setattr(made.links[1].current()[0].link, "send", swallow)
            for me, peer in ((0, 2), (2, 0)):
                made.links[me].check(party_name(peer))
            async with asyncio.timeout(AMPLE):
                while 0 in made.links[2].current() or 2 in made.links[0].current():
                    await asyncio.sleep(0.01)
            assert await made.reach(2, 0) == 3

    run(work())


def test_nobody_else_is_passed_on_or_let_in(identities: list[Identity]) -> None:
    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2)) as made:
            for said in (RelayWanted(1, 9), RelayWanted(2, 2), RelayWanted(3, 3)):
                made.links[1].relays.hear(2, said)
            for origin in (0, 1, 9):
                made.links[0].relays.hear(1, RelayComes(1, origin))
            await asyncio.sleep(0.05)
            assert made.links[1].relays.passing == 0
            assert not made.links[0].relays._arriving
            assert set(made.links[0].current()) == {1}

    run(work())


def test_the_peer_itself_is_used_once_it_is_reached(
    identities: list[Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that cannot be dialled is reached through another, and itself when that works."""
    monkeypatch.setattr(node_links, "RELAY_SECONDS", 0.0)
    monkeypatch.setattr(node_links, "DIRECT_SECONDS", 0.05)
    mended = asyncio.Event()

    async def work() -> None:
        async with nodes(identities, (0, 1), (1, 2)) as made:
            straight, other = memory_pair("node 2", "node 0")

            async def dial(*_: object) -> TlsLink | None:
                return cast(TlsLink, straight) if mended.is_set() else None

            monkeypatch.setattr(made.links[2], "_dial", dial)
            made.links[2]._spawn(made.links[2]._keep_linked(0, "127.0.0.1:1"))
            async with asyncio.timeout(AMPLE):
                while not made.links[2].relayed:
                    await asyncio.sleep(0.01)
                mended.set()
                while made.links[2].relayed:
                    await asyncio.sleep(0.01)
            made.links[0].accept(2, cast(TlsLink, other))
            assert made.links[2].current()[0].link.peer == "node 0"

    run(work())
