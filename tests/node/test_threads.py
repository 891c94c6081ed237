"""Work away from a node's event loop: whoever is cancelled waits, and nothing stays behind."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from tacit.errors import AbortError, PeerError
from tacit.mpc import COORDINATOR, Context, Session, open_session
from tacit.mpc.transport import Mux, memory_pair
from tacit.node.limits import MemoryBudget
from tacit.node.threads import BridgedMux, WorkerLoops, in_thread


async def away(work: Callable[[], Any]) -> Any:
    loops = WorkerLoops()
    try:

        async def later() -> Any:
            return work()

        return await loops.run("platform", later)
    finally:
        loops.close()


@pytest.mark.parametrize("call", [in_thread, away])
def test_whoever_is_cancelled_waits_for_the_end(call: Any) -> None:
    async def show() -> None:
        begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            go_on.wait(60)
            ended.set()
            raise ValueError("too late for anybody")

        noticed: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: noticed.append(what))
        task = asyncio.ensure_future(call(work))
        await asyncio.to_thread(begun.wait, 60)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
            assert not task.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()
        del task
        gc.collect()
        assert not noticed

    asyncio.run(show())


@pytest.mark.parametrize("call", [in_thread, away])
def test_what_failed_leaves_nothing_in_memory(call: Any) -> None:
    """A platform that is refused again and again must not wait for the garbage collector."""

    class Large:
        pass

    kept: list[weakref.ref[Large]] = []

    def work() -> None:
        large = Large()
        kept.append(weakref.ref(large))
        raise ValueError("refused")

    async def show() -> None:
        gc.disable()
        try:
            with pytest.raises(ValueError, match="refused"):
                await call(work)
            # The thread lets go of it a moment after we have its error.
            async with asyncio.timeout(60):
                while any(reference() is not None for reference in kept):
                    await asyncio.sleep(0.01)
            assert len(kept) == 1
        finally:
            gc.enable()

    asyncio.run(show())


def test_a_session_away_sends_and_receives_by_way_of_its_link() -> None:
    context = Context(b"agreement", 0, 1, 0, b"request")
    threads: list[int] = []

    async def echo(session: Session, peer: int) -> int:
        threads.append(threading.get_ident())
        total = 0
        for number in range(5):
            await session._send(peer, [bytes([number])])
            total += bytes((await session._receive_all([peer]))[peer])[0]
        return total

    async def show() -> None:
        loops = WorkerLoops()
        here, there = (Mux(link) for link in memory_pair("one", "two"))
        # Two coordinators need no keys; what is tested is how messages travel.
        options: Any = {"me": COORDINATOR, "epoch": None, "timeout": 60.0}
        async with (
            open_session(context, muxes={0: BridgedMux(here)}, **options) as away,
            open_session(context, muxes={0: there}, **options) as near,
        ):
            far = asyncio.ensure_future(loops.run("platform", lambda: echo(away, 0)))
            assert await echo(near, 0) == await far == 10
        assert len(set(threads)) == 2
        # A notice from the other side ends what waits away.
        again = Context(b"agreement", 0, 2, 0, b"request")

        async def fails() -> None:
            async with open_session(again, muxes={0: BridgedMux(here)}, **options) as away:
                waiting = asyncio.ensure_future(
                    loops.run("platform", lambda: away._receive_all([0]))
                )
                await there.notify(again.channel(0), None, timeout=60)
                await waiting

        with pytest.raises(PeerError, match="failed in this evaluation"):
            await fails()
        await here.close()
        await there.close()
        loops.close()

    asyncio.run(show())


def test_computations_of_a_platform_share_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def wait_for(seconds: float) -> None:
        monkeypatch.setattr("tacit.node.limits.WAIT_SECONDS", seconds)

    async def show() -> None:
        budget = MemoryBudget("node 0", megabytes=100)
        wait_for(0.02)
        async with budget.reserve("one", 500_000_000):  # alone it always fits
            with pytest.raises(AbortError, match="try again"):
                async with budget.reserve("one", 1):
                    pass
            async with budget.reserve("another", 60_000_000), budget.reserve("another", 1):
                pass
        wait_for(60.0)
        async with budget.reserve("one", 60_000_000):
            waiting = asyncio.ensure_future(budget.reserve("one", 60_000_000).__aenter__())
            await asyncio.sleep(0)
            assert not waiting.done()
        await waiting

    asyncio.run(show())
