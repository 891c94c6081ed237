"""What must not stop in the middle, though whoever asked for it has gone.

What takes time runs in threads, so that the event loop answers everybody else meanwhile.

Platforms have turns of their own: none waits for what another one asked for, and what takes memory
does not add up.

Heavy computations on event loops of their own, so that links and small ones go on meanwhile.

A protocol alternates between messages and long NumPy steps. Each platform has a few threads with an
event loop; a heavy computation runs there, and its messages go by way of the node's own loop, since
a TLS connection must never be used from two threads. NumPy lets other threads run in nearly all of
its long steps. No more heavy steps than threads run at once, and none waits for another platform's.
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
    """Do some work; whoever is cancelled meanwhile is so only when it is done.

    A thread cannot be stopped, and nobody else may touch what it works on before it has ended.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    try:
        if cancelled is not None:
            # Its error, if it has one, is nobody's any more.
            _ = task.cancelled() or task.exception()
            raise cancelled
        return task.result()
    finally:
        # An error refers to this frame; without this, all that the work had would stay until the
        # garbage collector finds the circle.
        del task, cancelled


class Turns:
    """One turn at a time per platform. There are as many platforms as the operator has let in."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._rests: dict[str, float] = {}

    @asynccontextmanager
    async def of(self, platform: str, /, *, rest: float = 0.0) -> AsyncIterator[None]:
        """A turn of a platform; afterwards it rests so many times as long as that took.

        Reading a long text holds up all threads, so the share of a platform in that is limited.
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
    """Call a function in a thread; whoever is cancelled meanwhile waits for its end.

    A thread cannot be stopped. If nobody waited for it, requests that are cancelled again and again
    would pile up threads, and a file might be written by two of them.
    """
    return await to_the_end(asyncio.to_thread(function, *args, **kwargs))


MOST_THREADS = max(2, os.cpu_count() or 1)
"""Of one platform."""


class WorkerLoops:
    """The threads of all platforms, started when they are needed first."""

    def __init__(self) -> None:
        self._loops: dict[tuple[str, int], asyncio.AbstractEventLoop] = {}
        self._turn = itertools.count()

    def _loop(self, platform: str) -> asyncio.AbstractEventLoop:
        key = (platform, next(self._turn) % MOST_THREADS)
        loop = self._loops.get(key)
        if loop is None:
            loop = self._loops[key] = asyncio.new_event_loop()
            threading.Thread(target=_serve, args=(loop,), daemon=True).start()
        return loop

    async def run(self, platform: str, work: Callable[[], Coroutine[Any, Any, T]], /) -> T:
        """Run a coroutine on a loop of the platform; whoever is cancelled waits for its end."""
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
        cancelled: asyncio.CancelledError | None = None
        while not ended.done():
            try:
                await asyncio.wait([ended])
            except asyncio.CancelledError as error:
                cancelled = error
                away.call_soon_threadsafe(cancel)
        task = started.pop()
        try:
            if cancelled is not None:
                # The error of a task that was cancelled is nobody's any more.
                _ = task.cancelled() or task.exception()
                raise cancelled
            return task.result()
        finally:
            # An error refers to this frame, and would keep all that was computed in a circle.
            del task, cancelled

    def close(self) -> None:
        """Stop all threads."""
        for loop in self._loops.values():
            loop.call_soon_threadsafe(loop.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    loop.close()


class BridgedMux(ForwardingMux):
    """A link for a computation on another loop; made on the loop that the link belongs to."""

    def __init__(self, mux: SessionMux, /) -> None:
        super().__init__(mux)
        self._home = asyncio.get_running_loop()

    def open(self, channel: Channel, *, tag: bytes) -> _BridgedWire:
        """A conversation, opened at home with its first message."""
        return _BridgedWire(self._home, lambda: self._mux.open(channel, tag=tag))


class _BridgedWire:
    """A wire whose messages are sent and received on the loop of its link."""

    def __init__(self, home: asyncio.AbstractEventLoop, make: Callable[[], Wire]) -> None:
        self._home, self._make = home, make
        self._wire: Wire | None = None
        self._failure: PeerError | None = None

    def _opened(self) -> Wire:
        """At home alone."""
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
        """Send a message."""
        await self._at_home(lambda: self._opened().send(depth, payload, timeout=timeout))

    async def receive(self, *, timeout: float) -> Frame:
        """Wait for the next message."""
        return await self._at_home(lambda: self._opened().receive(timeout=timeout))

    def fail(self, error: PeerError) -> None:
        """Raise this error in the receiver that waits for a message."""
        self._home.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: PeerError) -> None:
        self._failure = error
        if self._wire is not None:
            self._wire.fail(error)

    def close(self) -> None:
        """No more messages; called at home, when the computation has ended."""
        if self._wire is not None:
            self._wire.close()
