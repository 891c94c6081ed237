"""A platform can neither cut the links between nodes nor fill a node's memory."""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tacit.errors import EngineError, FrameError, LogError, PeerError, UnwrittenError
from tacit.identity.config import NodeConfig, PeerConfig
from tacit.local.cluster import LocalCluster
from tacit.mpc.transport import Identity, MemoryLink, Mux, TlsLink, delayed, memory_pair
from tacit.node import links as node_links
from tacit.node import platform_connection
from tacit.node.computation import NodeComputation
from tacit.node.links import PeerLine, PeerLinks
from tacit.node.platform_connection import PlatformConnection
from tacit.records.events import LinkLost, LogEvent, NodeFault
from tacit.records.messages import (
    TALK,
    Failed,
    FetchLog,
    LogPage,
    Prepare,
    Refused,
    Reply,
    context_of,
    decode_reply,
    decode_request,
    encode_message,
)
from tacit.supervisor import Supervisor
from tests.on_nodes.agreed_cluster import AgreedCluster, ask, populations, run
from tests.on_nodes.deadlines import AMPLE


async def comes_true(condition: Callable[[], bool]) -> None:
    """Wait for something that happens by itself."""
    async with asyncio.timeout(AMPLE):
        while not condition():
            await asyncio.sleep(0.01)


# Links between nodes.


def peers(events: list[str]) -> PeerLinks:
    config = NodeConfig(
        node=0,
        listen="127.0.0.1:1",
        keys="",
        certificate="",
        tls_key="",
        data="",
        peers=[PeerConfig(node, "127.0.0.1:1", "") for node in (1, 2)],
        platforms=[],
    )
    return PeerLinks(
        config,
        cast(Identity, None),
        frame_limit=1 << 20,
        log=lambda event: events.append(f"{event.name} {getattr(event, 'peer', '')}"),
        lost=lambda _: events.append("epochs ended"),
        tasks=Supervisor(lambda name, error: events.append(f"{name} failed: {error!r}")),
    )


def arrive(links: PeerLinks, link: MemoryLink) -> None:
    links.accept(1, cast(TlsLink, link))


@pytest.mark.processes
def test_a_stalled_evaluation_leaves_links_and_other_agreements_alone() -> None:
    """An evaluation that only one node is asked for, while another agreement goes on."""

    async def attack(cluster: LocalCluster, agreed: AgreedCluster, other: AgreedCluster) -> None:
        first, second = populations(2)
        async with agreed.ready() as (coordinator, own), other.ready() as (neighbour, evaluations):
            epoch, client = await coordinator.epoch(), coordinator.clients[0]
            kept = await neighbour.epoch()
            with pytest.raises(PeerError, match="sent nothing"):
                await ask(client, agreed.request(first, epoch=epoch))
            await evaluations.evaluate(second, until=None)
            assert await neighbour.epoch() == kept
            # The epoch of the agreement itself has ended, and a new one is opened.
            await own.evaluate(first, until=asyncio.get_running_loop().time() + AMPLE)

    # Long enough that the neighbour, whose nodes may wait for a core, is not out of time itself.
    with LocalCluster(timeout_seconds=1.5, chosen_populations=True) as cluster:
        agreed, other = AgreedCluster.draft(cluster), AgreedCluster.draft(cluster)
        run(attack(cluster, agreed, other))
        for node in range(3):
            lost = [e for e in agreed.node_log(node) if isinstance(e, LinkLost)]
            assert not [e for e in lost if e.peer.startswith("node")]


def test_a_link_is_closed_only_if_the_peer_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node_links, "ANSWER_SECONDS", AMPLE)

    async def work() -> list[str]:
        events: list[str] = []
        links = peers(events)
        here, there = memory_pair("node 0", "node 1")
        arrive(links, here)
        line = PeerLine(Mux(there))
        answering = asyncio.ensure_future(line.listen())
        await asyncio.sleep(0)
        links.check("node 1")
        await comes_true(lambda: not links._asking)
        assert events == ["connected node 1"]
        answering.cancel()
        await asyncio.sleep(0)
        monkeypatch.setattr(node_links, "ANSWER_SECONDS", 0.05)
        links.check("node 2")
        links.check("node 1")
        await comes_true(lambda: not links.current())
        await comes_true(lambda: events[-1] == "epochs ended")
        await links.close()
        await line.mux.close()
        return events

    assert run(work()) == ["connected node 1", "link lost node 1", "epochs ended"]


def test_a_node_that_was_slow_itself_takes_nobody_for_gone() -> None:
    """It did not read the answer to one question; there are more."""

    async def work() -> bool:
        links = peers([])
        here, there = memory_pair("node 0", "node 1")
        arrive(links, here)
        line = PeerLine(Mux(there))
        answering = asyncio.ensure_future(line.listen())
        await asyncio.sleep(0.01)
        gone = asyncio.ensure_future(links.is_gone(1, grace=1.0))
        await asyncio.sleep(0)
        time.sleep(1.2)
        result = await gone
        answering.cancel()
        await links.close()
        await line.mux.close()
        return result

    assert not run(work())


def test_who_answers_none_of_many_questions_is_gone_after_the_agreed_time() -> None:
    async def work() -> None:
        links = peers([])
        here, there = memory_pair("node 0", "node 1")
        arrive(links, here)
        far = Mux(there)
        talk = far.open(TALK)
        await asyncio.sleep(0)
        begun = time.monotonic()
        assert await links.is_gone(1, grace=0.5)
        assert time.monotonic() - begun >= 0.5
        # A new link is a sign of life: the time begins anew.
        gone = asyncio.ensure_future(links.is_gone(1, grace=10.0))
        await talk.receive(timeout=AMPLE)
        here, there = memory_pair("node 0", "node 1")
        line = PeerLine(Mux(there))
        answering = asyncio.ensure_future(line.listen())
        arrive(links, here)
        assert not await gone
        answering.cancel()
        await links.close()
        for mux in (far, line.mux):
            await mux.close()

    run(work())


def test_a_line_knows_how_long_the_network_takes_there_and_back() -> None:
    async def work() -> None:
        here, there = memory_pair("node 0", "node 1")
        lines = [PeerLine(Mux(delayed(end, 20.0))) for end in (here, there)]
        listening = [asyncio.ensure_future(line.listen()) for line in lines]
        await lines[0].measure()
        assert lines[0].round_trip is not None
        assert lines[0].round_trip >= 0.04
        for each in listening:
            each.cancel()
        for line in lines:
            await line.mux.close()

    run(work())


class SlowToClose(MemoryLink):
    async def close(self) -> None:
        await asyncio.sleep(0.1)
        await super().close()


def test_a_new_link_is_in_place_before_the_old_one_is_closed() -> None:
    async def work() -> None:
        events: list[str] = []
        links = peers(events)
        ends = [MemoryLink("node 0") for _ in range(3)]
        for end in ends:
            mine = SlowToClose("node 1")
            mine.join(end)
            arrive(links, mine)
        for _ in range(3):
            await asyncio.sleep(0)
            assert 1 in links.current()
        newest = links.current()[1]
        await comes_true(lambda: sum(end._closed for end in ends) == 2)
        assert links.current()[1] is newest
        # Of three links that arrived together, one is left and no other stays open.
        assert [end._closed for end in ends] == [True, True, False]
        await links.close()

    run(work())


def test_peers_are_told_of_an_evaluation_that_cannot_be_written_down() -> None:
    async def work() -> list[int | None]:
        here, there = (Mux(link) for link in memory_pair("node 0", "node 1"))
        platform, far = (Mux(link) for link in memory_pair("node 0", "the platform"))
        node = SimpleNamespace(peers=SimpleNamespace(current=lambda: {1: here}))
        request = Prepare(agreement=bytes(32), objective=0, epoch=1, attempt=0)
        told: list[int | None] = []
        computation = NodeComputation(cast(Any, node), cast(Any, None), request, b"", platform)
        context = context_of(request, b"")
        there.watch(context.channel(0), told.append)

        async def begin() -> None:
            async with computation.begins():
                raise LogError("the log cannot be written")

        with pytest.raises(LogError):
            await begin()
        await comes_true(lambda: bool(told))
        for mux in (here, there, platform, far):
            await mux.close()
        return told

    assert run(work()) == [None]


# A platform's requests.


class Platform:
    """The far end of a platform's link to a node that exists in name only."""

    def __init__(self, *, pending_limit: int = 1 << 20) -> None:
        here, there = memory_pair("platform", "node 0")
        self.notes: list[LogEvent] = []
        node = SimpleNamespace(
            name="node 0", agreement_states={}, metrics=None, note=self.notes.append
        )
        self.mux = Mux(here)
        self.near = PlatformConnection(
            cast(Any, node), Mux(there, pending_limit=pending_limit), "p"
        )
        self.talk = self.mux.open(TALK)
        self.serving = asyncio.ensure_future(self.near.serve())

    def carries_out(self, monkeypatch: pytest.MonkeyPatch, work: Any) -> None:
        monkeypatch.setattr(self.near, "_carry_out", work)

    async def ask(self, number: int, size: int = 0) -> None:
        message = encode_message(FetchLog(id=number, agreement=bytes(size)))
        await self.talk.send(1, message, timeout=AMPLE)

    async def answer(self) -> Reply:
        frame = await self.talk.receive(timeout=AMPLE)
        return decode_reply(frame.payload, peer="node 0")

    async def close(self) -> None:
        await self.mux.close()
        await self.serving


def test_work_for_a_platform_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform_connection, "MOST_REQUESTS", 8)
    monkeypatch.setattr(platform_connection, "MOST_BYTES", 5000)

    async def flood(size: int, most: int) -> None:
        platform = Platform(pending_limit=10_000)
        go_on = asyncio.Event()

        async def work(request: FetchLog) -> LogPage:
            await go_on.wait()
            return LogPage(id=request.id, log=b"", more=False, signature=b"", seconds=0)

        platform.carries_out(monkeypatch, work)
        for number in range(100):
            await platform.ask(number, size)
        await comes_true(lambda: len(platform.near._tasks) == most)
        await asyncio.sleep(0.05)
        assert len(platform.near._tasks) == most
        # What waits for its turn waits in the network, not in the node.
        assert platform.near._talk._inbox.pending < 15_000
        go_on.set()
        assert {(await platform.answer()).id for _ in range(100)} == set(range(100))
        await platform.close()

    run(flood(10, 8))
    run(flood(2000, 2))


def test_a_number_used_for_two_requests_ends_the_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def attack() -> list[LogEvent]:
        platform = Platform()

        async def work(request: FetchLog) -> LogPage:
            await asyncio.sleep(60)
            return LogPage(id=request.id, log=b"", more=False, signature=b"", seconds=0)

        platform.carries_out(monkeypatch, work)
        for _ in range(2):
            await platform.ask(7)
        await platform.serving
        await platform.mux.close()
        return platform.notes

    last = run(attack())[-1]
    assert isinstance(last, LinkLost)
    assert "number 7 for two requests" in last.what


def test_unexpected_errors_and_long_texts_are_not_echoed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def attack(error: Exception) -> tuple[Reply, list[LogEvent]]:
        platform = Platform()

        async def work(request: FetchLog) -> LogPage:
            raise error

        platform.carries_out(monkeypatch, work)
        await platform.ask(1)
        reply = await platform.answer()
        await platform.close()
        return reply, platform.notes

    reply, notes = run(attack(KeyError("a share of 12345")))
    assert isinstance(reply, Failed)
    assert reply.what == "failed itself (KeyError); its own log says more"
    assert any(isinstance(note, NodeFault) and "12345" in note.what for note in notes)
    reply, _ = run(attack(OSError(errno.ENOSPC, "share 12345", "/keys/alpha")))
    assert isinstance(reply, Failed)
    assert reply.what == "failed itself (No space left on device); its own log says more"
    # A full disk is the node's own trouble. A refusal would end the run for good.
    reply, _ = run(attack(UnwrittenError("the log cannot be written (No space left on device)")))
    assert isinstance(reply, Failed)
    assert reply.peer == "node 0"
    reply, notes = run(attack(EngineError("x" * 10_000)))
    assert isinstance(reply, Refused)
    assert len(reply.reason) < 600
    assert len(str(notes)) < 2000


def test_long_words_are_no_request(cluster: LocalCluster) -> None:
    agreed = AgreedCluster.draft(cluster)

    request = agreed.request(b"", epoch=1, disclosure="x" * 101)
    with pytest.raises(FrameError, match="not a request"):
        decode_request(encode_message(request), peer="the platform")
