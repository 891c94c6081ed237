"""A worker as the main process sees it: started cheaply, listened to, killed without asking.

Workers are forked from a server process that has imported and compiled everything once.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import socket
import struct
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess

import msgspec

from tacit.service.execution.report import Order, Report

PRELOADED = ["tacit.service.execution.preloaded"]
LARGEST_REPORT = 64 << 20


def worker_context() -> ForkServerContext:
    """Where workers come from; one per service.

    >>> worker_context().get_start_method()
    'forkserver'
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _work(line: socket.socket, order: Order) -> None:
    # Imported by the server the worker is forked from; here it would cost the platform seconds.
    from tacit.service.execution.worker import work

    work(line, order)


class WorkerHandle:
    """One worker and its last report."""

    def __init__(self, context: ForkServerContext, order: Order, /) -> None:
        self._context, self._order = context, order
        self._process: BaseProcess | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self.last = Report(stage="ready")
        self.is_ready = asyncio.Event()
        """Set when the worker may be told to begin, and when it has ended."""
        self.has_ended = asyncio.Event()

    async def start(self) -> None:
        """Start the process; it prepares itself."""
        ours, theirs = socket.socketpair()
        try:
            reader, self._writer = await asyncio.open_connection(sock=ours)
            self._reading = asyncio.get_running_loop().create_task(self._read(reader))
            process = self._context.Process(target=_work, args=(theirs, self._order), daemon=True)
            self._process = process
            # The first one waits until the server has imported everything.
            await asyncio.to_thread(process.start)
        finally:
            theirs.close()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                (length,) = struct.unpack("<I", await reader.readexactly(4))
                if length > LARGEST_REPORT:
                    return
                data = await reader.readexactly(length)
                self.last = msgspec.msgpack.decode(data, type=Report)
                self.is_ready.set()
                if self.last.stage in ("ended", "failed"):
                    return
        except (OSError, EOFError, msgspec.DecodeError):
            return
        finally:
            self.has_ended.set()
            self.is_ready.set()

    def begin(self, until: float, /) -> None:
        """Let it search until this instant of CLOCK_MONOTONIC."""
        if self._writer is not None:
            self._writer.write(struct.pack("<d", until))

    async def end(self) -> None:
        """Kill the process, whatever it does, and forget it."""
        if self._reading is not None:
            self._reading.cancel()
        if self._writer is not None:
            self._writer.close()
        process = self._process
        if process is not None and process.pid is not None:
            process.kill()
            await asyncio.to_thread(process.join)
            process.close()
