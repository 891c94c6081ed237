"""Run the execution on an event loop of its own, so that no request can hold up a deadline.

Requests are answered by one event loop. However each of them is limited, a crowd of them, or one
that somebody finds a way to make slow, keeps that loop from everything else. Threads take turns
within a millisecond instead. What holds the interpreter for longer, one long call of a decoder, is
done in other processes (`Background`).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from tacit.client import CarriedLogs, ClusterView
from tacit.service.execution.port import Execution
from tacit.service.server.metrics import ServiceMetrics
from tacit.service.server.settings import Settings
from tacit.service.storage import Database
from tacit.supervisor import Supervisor, log_failures

T = TypeVar("T")
log = logging.getLogger("tacit.service.execution")
UntilServed = Callable[[], Awaitable[None]]
"""Waits until the loop of the requests comes to something new."""
MakeExecutionApart = Callable[[Settings, Database, UntilServed], Execution]


class ExecutionThread:
    """An `Execution` that passes each call to another one, in that one's thread."""

    def __init__(
        self, settings: Settings, database: Database, /, *, make: MakeExecutionApart
    ) -> None:
        self._execution = make(settings, database, self._until_served)
        self.tasks = Supervisor(log_failures(log))
        """Those that others add, on the loop of the requests; the figures have all in one table."""
        self.tasks.health = self._execution.tasks.health
        self._requests: asyncio.AbstractEventLoop | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop = asyncio.Event()

    @property
    def metrics(self) -> ServiceMetrics:
        return self._execution.metrics

    def clusters(self) -> list[ClusterView]:
        """All clusters, as last seen. It waits for nothing, so any thread may ask."""
        return self._execution.clusters()

    async def start(self) -> None:
        """Start the thread, and the execution in it."""
        self._requests = asyncio.get_running_loop()
        is_there: asyncio.Future[None] = self._requests.create_future()
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._live(is_there),), name="execution", daemon=True
        )
        self._thread.start()
        await is_there
        await self._pass(self._execution.start())

    async def _live(self, is_there: asyncio.Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        assert self._requests is not None
        self._requests.call_soon_threadsafe(is_there.set_result, None)
        await self._stop.wait()

    async def stop(self) -> None:
        """Stop the execution, then its thread."""
        try:
            await self.tasks.close()
            await self._pass(self._execution.stop())
        finally:
            if self._loop is not None and self._thread is not None:
                self._loop.call_soon_threadsafe(self._stop.set)
                await asyncio.to_thread(self._thread.join)

    async def _pass(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None, "start comes first"
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _until_served(self) -> None:
        if self._requests is None:
            return
        served = asyncio.Event()
        loop = asyncio.get_running_loop()
        with suppress(RuntimeError):  # it has ended, and answers nobody
            self._requests.call_soon_threadsafe(loop.call_soon_threadsafe, served.set)
            await served.wait()

    async def cluster_for_new_run(self) -> str:
        return await self._pass(self._execution.cluster_for_new_run())

    async def draw_up(self, run_id: str, /) -> None:
        await self._pass(self._execution.draw_up(run_id))

    async def agreed(self, run_id: str, /) -> None:
        await self._pass(self._execution.agreed(run_id))

    async def submission(self, run_id: str, /) -> None:
        await self._pass(self._execution.submission(run_id))

    async def resume(self, run_id: str, /) -> None:
        await self._pass(self._execution.resume(run_id))

    async def cancel(self, run_id: str, reason: str, /) -> None:
        await self._pass(self._execution.cancel(run_id, reason))

    async def fetch_logs(
        self, run_id: str, nonce: bytes, /, *, heads_only: bool = False
    ) -> CarriedLogs:
        return await self._pass(self._execution.fetch_logs(run_id, nonce, heads_only=heads_only))
