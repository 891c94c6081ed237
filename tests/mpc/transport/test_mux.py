"""Conversations on one link, opened late, closed and never opened."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tacit.errors import AbortError, FrameError, PeerLostError, PeerTimeoutError
from tacit.mpc.epoch import agree_epoch
from tacit.mpc.transport import (
    Channel,
    EarlyLimits,
    Faults,
    FaultyLink,
    FrameKind,
    Header,
    Mux,
    connect,
    encode,
    memory_pair,
    tls,
)
from tacit.mpc.transport.early_frames import notice_about
from tests.mpc.transport.links import identities_of, serve

ONE, TWO = Channel(bytes(16), evaluation=1), Channel(bytes(16), evaluation=2)


def muxes(
    faults: Faults | None = None, *, limit: int = 1 << 20, early: EarlyLimits | None = None
) -> tuple[Mux, Mux]:
    here, there = memory_pair("node 0", "node 1")
    sender = FaultyLink(here, faults) if faults else here
    return Mux(sender), Mux(there, pending_limit=limit, early=early or EarlyLimits())


def test_conversations_do_not_wait_for_each_other() -> None:
    async def work() -> None:
        here, there = muxes()
        first, second = here.open(ONE), here.open(TWO)
        await second.send(1, b"second", timeout=1)
        await first.send(1, b"first", timeout=1)
        assert bytes((await there.open(ONE).receive(timeout=1)).payload) == b"first"
        assert bytes((await there.open(TWO).receive(timeout=1)).payload) == b"second"
        await here.close()
        await there.close()

    asyncio.run(work())


def test_a_lost_frame_is_noticed() -> None:
    async def work() -> None:
        here, there = muxes(Faults(drop=frozenset({1})))
        talk, listen = here.open(ONE), there.open(ONE)
        for word in (b"a", b"b", b"c"):
            await talk.send(1, word, timeout=1)
        await listen.receive(timeout=1)
        with pytest.raises(AbortError, match="node 0: sent frame 2 where frame 1 was due"):
            await listen.receive(timeout=1)
        await here.close()
        await there.close()

    asyncio.run(work())


def test_a_stall_ends_at_the_time_limit() -> None:
    async def work() -> None:
        here, there = muxes(Faults(stall_after=1))
        talk, listen = here.open(ONE), there.open(ONE)
        await talk.send(1, b"a", timeout=1)
        await talk.send(1, b"b", timeout=1)
        await listen.receive(timeout=1)
        with pytest.raises(PeerTimeoutError, match=r"node 0: sent nothing for 0\.02 s"):
            await listen.receive(timeout=0.02)
        await here.close()
        await there.close()

    asyncio.run(work())


def test_a_corrupt_header_ends_the_link_for_all() -> None:
    async def work() -> None:
        here, there = muxes(Faults(corrupt={0: 0}))
        listen = there.open(ONE), there.open(TWO)
        await here.open(ONE).send(1, b"a", timeout=1)
        for conversation in listen:
            with pytest.raises(FrameError, match="not a frame"):
                await conversation.receive(timeout=1)
        assert isinstance(there.failure, FrameError)
        with pytest.raises(FrameError):
            await there.open(Channel(bytes(16), evaluation=3)).receive(timeout=1)
        await here.close()
        await there.close()

    asyncio.run(work())


def test_closing_wakes_everybody() -> None:
    async def work() -> None:
        here, there = muxes()
        waiting = asyncio.gather(
            *(there.open(c).receive(timeout=5) for c in (ONE, TWO)), return_exceptions=True
        )
        await asyncio.sleep(0)
        await here.close()
        assert all(isinstance(error, PeerLostError) for error in await waiting)
        await there.close()

    asyncio.run(work())


def test_a_channel_is_used_once_and_late_frames_are_dropped() -> None:
    async def work() -> None:
        here, there = muxes()
        talk, listen = here.open(ONE), there.open(ONE)
        with pytest.raises(AbortError, match="opened before"):
            there.open(ONE)
        listen.close()
        await talk.send(1, b"late", timeout=1)
        await asyncio.sleep(0)
        with pytest.raises(AbortError, match="opened before"):
            there.open(ONE)
        assert ONE not in there._inboxes
        await here.close()
        await there.close()

    asyncio.run(work())


def test_a_delay_keeps_the_order_and_does_not_hold_up_the_sender() -> None:
    async def work() -> None:
        here, there = muxes(Faults(delay=0.05))
        talk, listen = here.open(ONE), there.open(ONE)
        for number in range(20):
            await talk.send(1, bytes([number]), timeout=1)
        # All are sent before any has arrived: the sender did not wait for the network.
        assert there._inboxes[ONE].pending == 0
        for number in range(20):
            assert bytes((await listen.receive(timeout=5)).payload) == bytes([number])
        await here.close()
        await there.close()

    asyncio.run(work())


def test_nothing_piles_up_for_a_finished_evaluation() -> None:
    async def work() -> None:
        here, there = muxes()
        there.finish(ONE)
        for substream in range(3):
            talk = here.open(ONE._replace(substream=substream))
            for _ in range(5):
                await talk.send(1, bytes(900), timeout=1)
        await asyncio.sleep(0)
        assert not there._inboxes
        assert not len(there._early)
        assert there.failure is None
        await here.close()
        await there.close()

    asyncio.run(work())


def test_an_early_notice_is_kept_for_whoever_begins_later() -> None:
    async def work() -> None:
        here, there = muxes()
        await here.notify(ONE, 2, timeout=1)
        await asyncio.sleep(0)
        notices: list[int | None] = []
        there.watch(TWO, lambda culprit: notices.append(-1))
        there.watch(ONE, notices.append)
        assert notices == [2]
        await here.close()
        await there.close()

    asyncio.run(work())


ONE, OTHER = Channel(bytes(16), evaluation=1), Channel(b"o" * 16, evaluation=1)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def close(*pair: Mux) -> None:
    for each in pair:
        await each.close()


def test_too_much_for_what_nobody_began_is_dropped_and_the_link_lives() -> None:
    async def work() -> None:
        here, there = muxes(early=EarlyLimits(size=5000))
        await here.open(OTHER).send(1, b"early", timeout=1)
        for number in range(2, 20):
            await here.open(ONE._replace(evaluation=number)).send(1, bytes(600), timeout=1)
        await settle()
        assert there.failure is None
        assert 0 < len(there._early) <= 5
        # The flood of one agreement does not wash away what another one waits for.
        assert bytes((await there.open(OTHER).receive(timeout=1)).payload) == b"early"
        await close(here, there)

    asyncio.run(work())


def test_too_many_unopened_conversations_do_not_end_the_link() -> None:
    async def work() -> None:
        here, there = muxes(early=EarlyLimits(channels=50))
        for number in range(200):
            talk = here.open(Channel(bytes(16), evaluation=number, kind=FrameKind.EPOCH))
            await talk.send(1, bytes(32), timeout=1)
        await settle()
        assert there.failure is None
        assert len(there._early) == 25
        await close(here, there)

    asyncio.run(work())


def test_what_nobody_opens_expires() -> None:
    async def work() -> None:
        here, there = muxes(early=EarlyLimits(seconds=0.05))
        await here.open(ONE).send(1, b"early", timeout=1)
        await settle()
        assert len(there._early) == 1
        await asyncio.sleep(0.2)
        assert len(there._early) == 0
        assert there.failure is None
        await close(here, there)

    asyncio.run(work())


def test_a_notice_drops_what_nobody_opened() -> None:
    async def work() -> None:
        here, there = muxes()
        for substream in range(3):
            await here.open(ONE._replace(substream=substream)).send(1, b"early", timeout=1)
        await here.notify(ONE, 2, timeout=1)
        await here.open(ONE._replace(substream=3)).send(1, b"late", timeout=1)
        await settle()
        notices: list[int | None] = []
        there.watch(ONE, notices.append)
        assert notices == [2]
        assert len(there._early) == 0
        await close(here, there)

    asyncio.run(work())


def test_an_epoch_that_fails_leaves_nothing_behind() -> None:
    """Only node 0 was asked to open an epoch."""

    async def work() -> None:
        pairs = {peer: muxes() for peer in (1, 2)}
        ours = {peer: pair[0] for peer, pair in pairs.items()}
        for number in range(3):
            with pytest.raises(PeerTimeoutError):
                await agree_epoch(0, ours, number=number, timeout=0.01)
        with pytest.raises(AbortError, match="opened before"):
            await agree_epoch(0, ours, number=0, timeout=0.01)
        await settle()
        for here, there in pairs.values():
            assert not here._inboxes
            assert len(there._early) == 0
            await close(here, there)

    asyncio.run(work())


def test_nothing_more_is_read_while_too_much_lies_unread() -> None:
    async def work() -> None:
        here, there = muxes(limit=3000)
        talk, listen = here.open(ONE), there.open(ONE)
        for _ in range(100):
            await talk.send(1, bytes(500), timeout=1)
        for _ in range(100):
            await settle()
            assert there._inboxes[ONE].pending < 5000
            await listen.receive(timeout=1)
        await talk.send(1, b"more", timeout=1)
        await listen.receive(timeout=1)
        await close(here, there)

    asyncio.run(work())


def test_empty_frames_count_too() -> None:
    async def work() -> None:
        here, there = muxes(limit=3000)
        talk, _ = here.open(ONE), there.open(ONE)
        for _ in range(100):
            await talk.send(1, b"", timeout=1)
        await settle()
        assert len(there._inboxes[ONE]._frames) < 10
        await close(here, there)

    asyncio.run(work())


def test_closing_what_nobody_reads_lets_the_others_go_on() -> None:
    async def work() -> None:
        here, there = muxes(limit=3000)
        talk, stuck = here.open(ONE), there.open(ONE)
        for _ in range(20):
            await talk.send(1, bytes(500), timeout=1)
        await here.open(OTHER).send(1, b"through", timeout=1)
        listen = there.open(OTHER)
        with pytest.raises(PeerTimeoutError):
            await listen.receive(timeout=0.01)
        stuck.close()
        assert bytes((await listen.receive(timeout=1)).payload) == b"through"
        await close(here, there)

    asyncio.run(work())


def test_over_a_socket_the_sender_is_slowed_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TCP pushes back, and a frame that waits because of us is not taken for a slow one."""
    for name in ("_READ_AHEAD", "_WRITE_AHEAD"):
        monkeypatch.setattr(tls, name, 1 << 20)
    made = identities_of(tmp_path, ["a", "b"])
    a, b = made["a"], made["b"]

    async def work() -> None:
        arrived: asyncio.Queue[tls.TlsLink] = asyncio.Queue()
        server = await serve("127.0.0.1", 0, arrived.put_nowait, identity=a, frame_timeout=0.05)
        port = server.sockets[0].getsockname()[1]
        here = Mux(await connect("127.0.0.1", port, peer="a", identity=b))
        there = Mux(await arrived.get(), pending_limit=1 << 20)
        talk, listen = here.open(ONE), there.open(ONE)
        sent: list[int] = []

        async def flood() -> None:
            for number in range(200):
                await talk.send(1, bytes(1 << 20), timeout=0.15)
                sent.append(number)

        with pytest.raises(PeerTimeoutError, match="took nothing from us"):
            await flood()
        assert len(sent) < 100
        assert there._inboxes[ONE].pending < 4 << 20
        for _ in sent:
            await listen.receive(timeout=5)
        await close(here, there)
        server.close()

    asyncio.run(work())


def test_a_notice_names_a_party_by_its_number_or_nobody() -> None:
    async def work() -> None:
        here, there = muxes()
        notices: list[int | None] = []
        for number, payload in enumerate((b"", b"\x02", b"node 2", b"\xff")):
            channel = ONE._replace(evaluation=number)
            there.watch(channel, notices.append)
            header = Header(notice_about(channel), bytes(8), 0, 0, len(payload))
            await here.link.send(encode(header), payload, timeout=1)
        await settle()
        assert notices == [None, 2, None, 255]
        await close(here, there)

    asyncio.run(work())


def test_a_peer_that_floods_is_cut_off() -> None:
    async def work() -> None:
        here, there = muxes(early=EarlyLimits(channels=10, dropped=100))
        listen = there.open(OTHER)
        for number in range(200):
            await here.notify(ONE._replace(evaluation=number), None, timeout=1)
        with pytest.raises(FrameError, match="node 0: sends without end for evaluations that"):
            await listen.receive(timeout=1)
        assert len(there._early) <= 10
        await close(here, there)

    asyncio.run(work())


@pytest.mark.parametrize("sort", ["notices", "early", "open"])
def test_others_run_while_frames_are_always_ready(sort: str) -> None:
    """Whoever waits for the loop waits for a few turns, not for the end of a flood."""

    async def work() -> None:
        here, there = muxes()
        talk, listen = here.open(OTHER), there.open(OTHER)
        for number in range(20_000):
            match sort:
                case "notices":
                    await here.notify(ONE._replace(evaluation=number), None, timeout=1)
                case "early":
                    early = Header(ONE._replace(evaluation=number), bytes(8), 0, 0, 0)
                    await here.link.send(encode(early), b"", timeout=1)
                case "open":
                    await talk.send(1, b"", timeout=1)
        others = 0

        async def count() -> None:
            nonlocal others
            while True:
                others += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        if sort == "open":
            for _ in range(20_000):
                await listen.receive(timeout=5)
        else:
            await talk.send(1, b"after the flood", timeout=1)
            await listen.receive(timeout=30)
        # 20,000 frames take more than ten turns on any machine.
        assert others > 10
        counting.cancel()
        await close(here, there)

    asyncio.run(work())


def test_what_is_unread_is_counted_until_it_is_read_or_forgotten() -> None:
    async def work() -> None:
        here, there = muxes()
        for number in range(3):
            talk = here.open(ONE._replace(evaluation=number))
            await talk.send(1, bytes(100), timeout=1)
            await talk.send(1, bytes(100), timeout=1)
        await settle()
        listeners = [there.open(ONE._replace(evaluation=number)) for number in range(3)]
        assert there._unread == 6 * 612
        await listeners[0].receive(timeout=1)
        assert there._unread == 5 * 612
        listeners[1].close()
        assert there._unread == 3 * 612
        # Who still reads what is closed takes nothing off twice.
        await listeners[1].receive(timeout=1)
        there.finish(ONE._replace(evaluation=2))
        assert there._unread == 612
        await listeners[0].receive(timeout=1)
        assert there._unread == 0
        await close(here, there)

    asyncio.run(work())
