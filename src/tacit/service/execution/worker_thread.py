"""Execute runs on an event loop of their own, so that no request can hold up a deadline.

Requests are answered by one event loop. However each of them is limited, a crowd of them, or one
that somebody finds a way to make slow, keeps that loop from everything else. Threads take turns
within a millisecond instead. What holds the interpreter for longer, one long call of a decoder, is
done in other processes (`Background`).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tacit.service.execution.executor import Executor
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import Database

T = TypeVar("T")


class WorkerThread:
    """An `Executor` in a thread of this process."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        metrics: ServiceMetrics,
        /,
        *,
        make: Callable[..., Executor] = Executor,
    ) -> None:
        self._executor = make(settings, database, until_served=self._until_served, metrics=metrics)
        self.tasks = self._executor.tasks
        self._requests: asyncio.AbstractEventLoop | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Start the thread, and the execution in it."""
        self._requests = asyncio.get_running_loop()
        is_there: asyncio.Future[None] = self._requests.create_future()
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._live(is_there),), name="execution", daemon=True
        )
        self._thread.start()
        await is_there
        await self._pass(self._executor.start())

    async def _live(self, is_there: asyncio.Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        assert self._requests is not None
        self._requests.call_soon_threadsafe(is_there.set_result, None)
        await self._stop.wait()

    async def stop(self) -> None:
        """Stop the execution, then its thread."""
        try:
            await self._pass(self._executor.stop())
        finally:
            if self._loop is not None and self._thread is not None:
                self._loop.call_soon_threadsafe(self._stop.set)
                await asyncio.to_thread(self._thread.join)

    def look_now(self) -> None:
        """A run was changed."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._executor.look_now)

    async def _pass(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None, "start comes first"
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _until_served(self) -> None:
        """Wait until the loop of the requests comes to something new."""
        if self._requests is None:
            return
        served = asyncio.Event()
        loop = asyncio.get_running_loop()
        with suppress(RuntimeError):  # it has ended, and answers nobody
            self._requests.call_soon_threadsafe(loop.call_soon_threadsafe, served.set)
            await served.wait()
