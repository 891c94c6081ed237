import asyncio

import pytest

from tacit.errors import AbortError, FrameError, PeerLostError, PeerTimeoutError
from tacit.mpc.transport import Channel, Faults, FaultyLink, Mux, memory_pair

ONE, TWO = Channel(bytes(16), evaluation=1), Channel(bytes(16), evaluation=2)


def muxes(faults: Faults | None = None, limit: int = 1 << 20) -> tuple[Mux, Mux]:
    here, there = memory_pair("node 0", "node 1")
    sender = FaultyLink(here, faults) if faults else here
    return Mux(sender), Mux(there, pending_limit=limit)


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
        await here.notify(ONE, "node 2", timeout=1)
        await asyncio.sleep(0)
        notices: list[str] = []
        there.watch(TWO, lambda error: notices.append("wrong"))
        there.watch(ONE, lambda error: notices.append(error.peer))
        assert notices == ["node 2"]
        await here.close()
        await there.close()

    asyncio.run(work())
