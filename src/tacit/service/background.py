"""Run functions on input that may be large or hostile in processes of their own.

The platform's process has deadlines to keep. A thread would share its interpreter with the answers
that are due: one call of a decoder holds that for as long as it takes. Here each call gets a
process, forked from the server that workers come from, with a limit on memory and time, and at a
low priority. Whatever happens in it ends with it.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from multiprocessing.process import BaseProcess
from pathlib import Path

import msgspec

from tacit import errors
from tacit.errors import BusyError, InputError, ServiceError, TacitError
from tacit.service.execution.worker_handle import WorkerPool

Work = Callable[[bytes], bytes]
AT_ONCE = 2
"""More would take the processors from what has deadlines."""
WAIT_SECONDS = 30.0
WALL_TIMES = 10.0
"""By the clock so many times as long as it may compute: others have the processors first."""
MOST_MEMORY = 1 << 30
"""Above what the process has when it begins."""
_ANSWER, _ERROR = b"a", b"e"


@dataclass(frozen=True)
class CallLimits:
    """What one call may take: seconds of a processor, and bytes of memory."""

    seconds: float
    memory: int


class Background:
    """Processes for large input; one per service."""

    def __init__(self) -> None:
        self._pool = WorkerPool()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._ending: set[asyncio.Task[None]] = set()

    async def compute(
        self, work: Work, given: bytes, /, *, within: float, most_memory: int = MOST_MEMORY
    ) -> bytes:
        """Return what a function of a module makes of its input; its `TacitError` is raised here.

        A function that computes for more than `within` seconds, or takes too much memory, ends in a
        `ServiceError`. Waiting for a process counts apart, and ends in a `BusyError`.
        """
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await self._room.acquire()
        except TimeoutError:
            raise BusyError("the platform reads other large requests; retry in a minute") from None
        try:
            said = await self._said(work, given, CallLimits(within, most_memory))
        finally:
            self._room.release()
        if said[:1] == _ERROR:
            raise _error(*msgspec.json.decode(said[1:], type=tuple[str, str]))
        if said[:1] != _ANSWER:
            raise ServiceError("this takes more time or memory than there is for it; send less")
        return said[1:]

    async def _said(self, work: Work, given: bytes, limits: CallLimits) -> bytes:
        # The process ends as soon as this pair is closed, as it also is when the platform crashes.
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        starting = asyncio.ensure_future(self._pool.start(_run, theirs, work, limits))
        starting.add_done_callback(lambda _: theirs.close())
        try:
            # Shielded: whatever becomes of the request, the process is ended below.
            await asyncio.shield(starting)
            # The first process may wait long for its server, which imports everything.
            async with asyncio.timeout(limits.seconds * WALL_TIMES):
                writer.write(given)
                writer.write_eof()
                return await reader.read()
        except (ConnectionError, TimeoutError):
            return b""  # it was killed, or did not read what it was given, or hangs
        finally:
            writer.close()
            # A client that leaves must not leave work behind, nor wait for its end.
            ending = asyncio.get_running_loop().create_task(self._end(starting))
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def _end(self, starting: asyncio.Future[BaseProcess]) -> None:
        with suppress(OSError):
            process = await starting
            process.kill()
            await self._pool.reap(process)

    async def close(self) -> None:
        """End with the last process."""
        await asyncio.gather(*self._ending, return_exceptions=True)
        self._pool.close()


def _error(name: str, message: str) -> TacitError:
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, TacitError):
        with suppress(TypeError):  # of a kind that is made of more than its message
            return kind(message)
    return InputError(message)


def _run(line: socket.socket, work: Work, limits: CallLimits) -> None:
    """Work in the process; what it prints besides goes to the platform's log."""
    _limit(limits)
    with line, line.makefile("rwb") as both:
        given = both.read()
        try:
            said = _ANSWER + work(given)
        except TacitError as error:
            said = _ERROR + msgspec.json.encode((type(error).__name__, str(error)))
        except MemoryError:
            return
        both.write(said)


def _limit(limits: CallLimits) -> None:
    """Limit what this process may take above what it has, where the system says how much that is.

    Otherwise one request could have the system kill whatever it likes.
    """
    with suppress(OSError, ValueError):
        seconds = ceil(time.process_time() + limits.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = limits.memory + pages * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
