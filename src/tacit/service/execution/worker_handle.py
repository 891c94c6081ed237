"""A worker as the main process sees it: started cheaply, listened to, killed without asking.

Workers are forked from a server process that has imported and compiled everything once.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.process import BaseProcess

import msgspec
from msgspec.structs import replace

from tacit.service.execution.report import (
    Begin,
    LastReport,
    PartStored,
    Report,
    RunRequest,
    decode_said,
    framed,
    report_part,
)
from tacit.service.storage import FilePart

PRELOADED = ["tacit.service.execution.preloaded"]
LARGEST_REPORT = 64 << 20
LEAVE_SECONDS = 10.0
"""How long a worker may take to leave its nodes, once it has reported its end."""


class WorkerPool:
    """Where workers come from; one per service.

    All processes are started and waited for by one thread, as the standard library expects.
    """

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="worker-pool")

    async def open(self) -> None:
        """Have the server import everything before the first worker is needed."""
        await self.reap(await self.start(int))

    async def start(self, target: Callable[..., object], *arguments: object) -> BaseProcess:
        """A new process; the first waits until the server has imported everything."""

        def begin() -> BaseProcess:
            process = self._context.Process(target=target, args=arguments, daemon=True)
            process.start()
            return process

        return await asyncio.get_running_loop().run_in_executor(self._thread, begin)

    async def reap(self, process: BaseProcess, /) -> None:
        """Wait for the end of a process, and forget it."""

        def wait() -> None:
            process.join()
            process.close()

        await asyncio.get_running_loop().run_in_executor(self._thread, wait)

    def close(self) -> None:
        """No more workers."""
        self._thread.shutdown(wait=False)


def _work(line: socket.socket, request: RunRequest) -> None:
    # Imported by the server the worker is forked from; here it would cost the platform seconds.
    from tacit.service.execution.worker import work

    work(line, request)


class WorkerHandle:
    """One worker and its last report."""

    def __init__(
        self, pool: WorkerPool, request: RunRequest, store: Callable[[FilePart], None], /
    ) -> None:
        """`store` gets what is to be stored of the run's files; then comes `kept`."""
        self._pool, self._request, self._store = pool, request, store
        self._process: BaseProcess | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._is_answered = False
        self.last = Report(stage="ready")
        self.is_ready = asyncio.Event()
        """Set when the worker may begin, and when it has ended."""
        self.has_ended = asyncio.Event()
        """Set with the last report, or when there will be none."""
        self._has_left = asyncio.Event()

    async def start(self) -> None:
        """Start the process; it prepares itself."""
        # The worker ends as soon as this pair is closed, as it also is when the platform crashes.
        ours, theirs = socket.socketpair()
        starting: asyncio.Future[BaseProcess] | None = None
        try:
            reader, self._writer = await asyncio.open_connection(sock=ours)
            self._reading = asyncio.get_running_loop().create_task(self._read(reader))
            starting = asyncio.ensure_future(self._pool.start(_work, theirs, self._request))
            starting.add_done_callback(lambda _: theirs.close())
            # If this is cancelled, the process must still be ended.
            self._process = await asyncio.shield(starting)
        except BaseException:
            if starting is not None and not starting.done():
                starting.add_done_callback(_kill_late)
            raise

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                (length,) = struct.unpack("<I", await reader.readexactly(4))
                if length > LARGEST_REPORT:
                    return
                data = await reader.readexactly(length)
                said = decode_said(data)
                if isinstance(said, FilePart):
                    self._store(said)
                    continue
                if isinstance(said, LastReport):
                    # Its plan may contradict the answer, and then so would the ledger.
                    if self._is_answered:
                        return
                    for part in (*said.parts, report_part(said.report)):
                        self._store(part)
                    said = said.report
                self.last = said
                self.is_ready.set()
                if self.last.stage in ("ended", "failed"):
                    self.has_ended.set()
        except (OSError, EOFError, msgspec.DecodeError):
            return
        finally:
            self.has_ended.set()
            self.is_ready.set()
            self._has_left.set()

    def begin(self, until: float, /) -> None:
        """Let it search until this instant of CLOCK_MONOTONIC."""
        self._order(Begin(until))

    def kept(self, number: int, /) -> None:
        """Tell it that a part, and all before it, are stored."""
        self._order(PartStored(number))

    def _order(self, order: Begin | PartStored) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(framed(order))

    def give_up(self, error: str, /) -> None:
        """Listen no longer to a worker that cannot go on, nor can another one in its place."""
        self.last = replace(self.last, stage="failed", error=error, can_retry=False)
        if self._reading is not None:
            self._reading.cancel()

    def close_reports(self) -> None:
        """Accept no end any more: the answer is made of the last report."""
        self._is_answered = True

    async def end(self) -> None:
        """Kill the process, whatever it does, and forget it.

        One that has reported its end may leave by itself: nodes that it leaves in the middle of
        their last answer do not write down what proves it.
        """
        if self.last.stage == "ended":
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await self._has_left.wait()
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.close()
        if self._process is not None:
            self._process.kill()
            await self._pool.reap(self._process)


def _kill_late(started: asyncio.Future[BaseProcess]) -> None:
    if not started.cancelled() and started.exception() is None:
        started.result().kill()
