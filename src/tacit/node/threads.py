"""Run long work in threads, so that the node's event loop answers everybody meanwhile.

Short blocking calls run in a thread each (`in_thread`). A protocol alternates between messages and
long NumPy steps, so it has an event loop of its own in a thread (`WorkerLoops`). Its messages go by
way of the node's loop, since a TLS connection must never be used from two threads (`BridgedMux`).
Each platform has its own locks and threads, so one platform cannot delay another.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, ParamSpec, TypeVar

from tacit.errors import PeerError
from tacit.mpc import SessionMux, Wire
from tacit.mpc.transport import Buffer, Channel, Frame
from tacit.records.recording_mux import ForwardingMux

P = ParamSpec("P")
T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T], /) -> T:
    """Run a coroutine to completion even if the caller is cancelled; it is so afterwards.

    A thread cannot be stopped, and nobody else may touch what it works on before it has ended.
    """
    # No name for the task here: see `_outcome_of`.
    return await _outcome_of([asyncio.ensure_future(work)])


async def _outcome_of(
    tasks: list[asyncio.Task[T]],
    ended: asyncio.Future[None] | None = None,
    /,
    *,
    cancel: Callable[[], object] = lambda: None,
) -> T:
    """Wait until a task has ended, however often the caller is cancelled, for its outcome.

    `tasks` has the task by the time that it has `ended`. Each cancellation calls `cancel`, and is
    raised in the end.
    """
    cancelled: asyncio.CancelledError | None = None
    while not (ended or tasks[0]).done():
        try:
            await asyncio.wait([ended or tasks[0]])
        except asyncio.CancelledError as error:
            cancelled = error
            cancel()
    task = tasks.pop()
    try:
        if cancelled is not None:
            # Look at its error, or asyncio reports it as never retrieved.
            _ = task.cancelled() or task.exception()
            raise cancelled
        return task.result()
    finally:
        # An error refers to this frame, and the frame to the error: without this, all that the work
        # held would stay in memory until the garbage collector runs.
        del task, cancelled


class Turns:
    """A lock per platform. There are as many platforms as the operator has let in."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._rests: dict[str, float] = {}

    @asynccontextmanager
    async def of(self, platform: str, /, *, rest: float = 0.0) -> AsyncIterator[None]:
        """Hold a platform's lock; afterwards the platform rests `rest` times as long as that took.

        Parsing a long text holds up all threads, so a platform may do that for a part of the time.
        """
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(platform, asyncio.Lock()):
            await asyncio.sleep(max(0.0, self._rests.pop(platform, 0.0) - loop.time()))
            begun = loop.time()
            try:
                yield
            finally:
                now = loop.time()
                self._rests[platform] = now + rest * (now - begun)


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread, and wait for its end even if the caller is cancelled.

    Otherwise requests that are cancelled again and again would pile up threads, and two of them
    might write one file.
    """
    return await to_the_end(asyncio.to_thread(function, *args, **kwargs))


MOST_THREADS = max(2, os.cpu_count() or 1)
"""Of one platform."""


class WorkerLoops:
    """The threads of all platforms, each with an event loop, started when first needed."""

    def __init__(self) -> None:
        self._loops: dict[tuple[str, int], asyncio.AbstractEventLoop] = {}
        self._turn = itertools.count()

    def _loop(self, platform: str) -> asyncio.AbstractEventLoop:
        # In turns, so that computations which run at once are on different threads.
        key = (platform, next(self._turn) % MOST_THREADS)
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(loop,), daemon=True).start()
        return loop

    async def run(self, platform: str, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Run a coroutine on a loop of the platform; a cancelled caller waits for its end."""
        here, away = asyncio.get_running_loop(), self._loop(platform)
        ended: asyncio.Future[None] = here.create_future()
        started: list[asyncio.Task[T]] = []

        def start() -> None:
            task = away.create_task(work())
            started.append(task)
            task.add_done_callback(lambda _: here.call_soon_threadsafe(ended.set_result, None))

        def cancel() -> None:
            for task in started:
                task.cancel()

        away.call_soon_threadsafe(start)
        # The work over there is cancelled and waited for: its session must be closed before the
        # caller releases the memory and the links that it uses.
        return await _outcome_of(started, ended, cancel=lambda: away.call_soon_threadsafe(cancel))

    def close(self) -> None:
        for loop in self._loops.values():
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


class BridgedMux(ForwardingMux):
    """A link for a computation on another loop; created on the loop that the link belongs to."""

    def __init__(self, mux: SessionMux, /) -> None:
        super().__init__(mux)
        self._home = asyncio.get_running_loop()

    def open(self, channel: Channel, *, tag: bytes) -> _BridgedWire:
        return _BridgedWire(self._home, lambda: self._mux.open(channel, tag=tag))


class _BridgedWire:
    """A wire whose messages are sent and received on the loop of its link."""

    def __init__(self, home: asyncio.AbstractEventLoop, make: Callable[[], Wire]) -> None:
        self._home, self._make = home, make
        self._wire: Wire | None = None
        self._failure: PeerError | None = None

    def _opened(self) -> Wire:
        """The wire; called on the loop of the link alone."""
        if self._wire is None:
            self._wire = self._make()
            if self._failure is not None:
                self._wire.fail(self._failure)
        return self._wire

    async def _at_home(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        async def do() -> T:
            return await work()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(do(), self._home))

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        await self._at_home(lambda: self._opened().send(depth, payload, timeout=timeout))

    async def receive(self, *, timeout: float) -> Frame:
        return await self._at_home(lambda: self._opened().receive(timeout=timeout))

    def fail(self, error: PeerError) -> None:
        self._home.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: PeerError) -> None:
        self._failure = error
        if self._wire is not None:
            self._wire.fail(error)

    def close(self) -> None:
        # Called on the loop of the link, when the computation has ended.
        if self._wire is not None:
            self._wire.close()
