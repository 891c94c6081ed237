"""Let agreements compute in processes of their own, so that several use several cores.

A sealed computation is done here, on the node's event loop, while it is alone and its steps are
short: a letter by way of another process takes longer. Where steps are long, or another agreement
computes at the same time, it is done by the worker of its agreement (`tacit.node.worker`). Threads
would share one lock of the interpreter: two agreements in threads take more time than one after the
other (studies/benchmarks/node_cores.py).

Workers are forked from a process that was itself forked from the node before it had threads or
secrets. A worker belongs to one agreement, and keeps nothing of a computation: it can be ended at
any time, and another agreement gets another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from tacit.errors import AbortError, PeerError
from tacit.mpc import Session, Wire
from tacit.mpc.transport import Frame, FrameKind, Inbox
from tacit.node.threads import in_thread
from tacit.node.worker import (
    OUTCOME,
    READ_OUTCOME,
    PipeEnd,
    Task,
    TaskDone,
    TaskFailed,
    error_of,
    failure_of,
    fork_on_request,
    job_frame,
    open_pipe,
    wire_of,
)

MOST_WORKERS = max(2, os.cpu_count() or 1)
"""So many may wait for their agreement's next computation, and compute what is short."""
FOR_EVER = 1e9
K = TypeVar("K", bound=msgspec.Struct)


class ForkLine:
    """The line to the process that workers are forked from."""

    def __init__(self) -> None:
        """Fork that process; call this before the node has threads, an event loop or keys."""
        self._line, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gc.freeze()  # or the collector would copy the pages that all have in common
        if os.fork() == 0:
            kept = theirs.fileno()
            # Whoever waits for the end of the node's input or output must not wait for workers.
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.closerange(3, kept)
            os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
            fork_on_request(theirs)
        theirs.close()

    @classmethod
    def open(cls) -> ForkLine | None:
        """Fork the process that forks; None where that is not safe."""
        if sys.platform != "linux" or threading.active_count() > 1:
            return None
        return cls()

    def new_pipe(self) -> socket.socket:
        """Our end of the pipe to a new worker."""
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._line, [b"w"], [theirs.fileno()])
        return ours

    def close(self) -> None:
        self._line.close()


class WorkerProcess:
    """The process of one agreement, as the node sees it; one computation at a time."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pipe: PipeEnd | None = None
        self._computation: _Computation | None = None
        self.pid = 0
        self.is_gone = False

    @classmethod
    async def start(cls, line: ForkLine, name: str) -> WorkerProcess:
        """`name` is the node's, for errors."""
        made = cls(name)
        made._pipe = await open_pipe(line.new_pipe(), made._arrived, made._lost)
        return made

    def _arrived(self, frame: Frame) -> None:
        if frame.header.channel.kind is FrameKind.CONTROL and not self.pid:
            self.pid = int.from_bytes(bytes(frame.payload), "little")
        elif self._computation is not None:
            self._computation.arrived(frame)

    def _lost(self) -> None:
        self.is_gone = True
        if self._computation is not None:
            what = "the process of this agreement has ended; ask again"
            self._computation.fail(AbortError(self._name, what))

    async def compute(
        self, session: Session, task: Task, decoder: msgspec.msgpack.Decoder[K], /, *, memory: int
    ) -> K:
        """Have a task computed in this session, which nobody else uses."""
        assert self._pipe is not None
        if self.is_gone:
            raise AbortError(self._name, "the process of this agreement has ended; ask again")
        job = await in_thread(job_frame, task, session.hand_over(), memory)
        self._computation = computation = _Computation(self._pipe, session, self._name)
        try:
            self._pipe.put(FrameKind.CONTROL, -1, 0, job)
            return await in_thread(decoder.decode, await computation.result())
        except BaseException:
            # It keeps nothing, so it may end at any point; and what it still says is of no use.
            self.end()
            raise
        finally:
            await computation.close()
            self._computation = None

    def end(self) -> None:
        """End the process, whatever it does."""
        if not self.is_gone and self.pid:
            # Its pipe is open, so it is this process and no other.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.is_gone = True
        if self._pipe is not None:
            self._pipe.close()


class _Computation:
    """One computation of a worker: its letters go through here."""

    def __init__(self, pipe: PipeEnd, session: Session, name: str) -> None:
        self._pipe, self._session, self._name = pipe, session, name
        loop = asyncio.get_running_loop()
        self._outcome: asyncio.Future[bytes] = loop.create_future()
        self._data, self._done = b"", TaskDone(0, 0)
        self._outgoing = Inbox(name)
        self._wires: dict[tuple[int, int], Wire] = {}
        self._tasks = [loop.create_task(self._send_on())]

    def arrived(self, frame: Frame) -> None:
        kind, about = frame.header.channel.kind, wire_of(frame)
        if kind is FrameKind.EPOCH:
            self._open(*about)
        elif kind is not FrameKind.CONTROL:
            self._outgoing.put(frame)
        elif about[1] != OUTCOME:
            self._data = bytes(frame.payload)
        elif isinstance(outcome := READ_OUTCOME.decode(frame.payload), TaskFailed):
            self.fail(error_of(outcome))
        else:
            # In its place behind the letters: it ends the computation when all of them are out.
            self._done = outcome
            self._outgoing.put(frame)

    def fail(self, error: PeerError) -> None:
        if not self._outcome.done():
            self._outcome.set_exception(error)

    def _open(self, peer: int, substream: int) -> None:
        try:
            wire = self._session.open_wire(peer, substream)
        except PeerError as error:
            self.fail(error)
            return
        self._wires[peer, substream] = wire
        take = self._take_in(wire, peer, substream)
        self._tasks.append(asyncio.get_running_loop().create_task(take))

    async def _take_in(self, wire: Wire, peer: int, substream: int) -> None:
        """Pass on what a peer sends; the worker has the timeouts."""
        try:
            while True:
                frame = await wire.receive(timeout=FOR_EVER)
                depth = frame.header.depth
                self._pipe.put(FrameKind.PROTOCOL, peer, substream, frame.payload, depth=depth)
                await self._pipe.room()
        except PeerError as error:
            said = msgspec.msgpack.encode(failure_of(error, self._name))
            self._pipe.put(FrameKind.NOTICE, peer, substream, said)

    async def _send_on(self) -> None:
        """Send the peers what the worker has for them, in its order."""
        try:
            while True:
                frame = await self._outgoing.get(timeout=None)
                if frame.header.channel.kind is FrameKind.CONTROL:
                    break
                wire = self._wires[wire_of(frame)]
                timeout = self._session.timeout
                await wire.send(frame.header.depth, frame.payload, timeout=timeout)
            self._session.carried_on(sent=self._done.sent, depth=self._done.depth)
            if not self._outcome.done():
                self._outcome.set_result(self._data)
        except PeerError as error:
            self.fail(error)

    async def result(self) -> bytes:
        """Return what the computation leaves, once all its letters are sent."""
        return await self._outcome

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.fail(AbortError(self._name, "the computation was given up"))
        if not self._outcome.cancelled():
            self._outcome.exception()  # looked at, or asyncio reports it


class Processes:
    """The workers of a node."""

    def __init__(self, name: str, line: ForkLine | None) -> None:
        self._name, self._line = name, line
        self._workers: OrderedDict[bytes, WorkerProcess] = OrderedDict()
        self._busy: dict[bytes, int] = {}
        """By agreement, how many of its computations are under way, here or in its worker."""
        self._computing: set[bytes] = set()

    @asynccontextmanager
    async def worker_for(
        self, agreement: bytes, /, *, is_long: bool
    ) -> AsyncIterator[WorkerProcess | None]:
        """The worker that computes for an agreement in this block; None if it is computed here."""
        others = any(name != agreement for name in self._busy)
        self._busy[agreement] = self._busy.get(agreement, 0) + 1
        takes = self._line is not None and agreement not in self._computing
        if not is_long:
            takes = takes and others and len(self._computing) < MOST_WORKERS
        if takes:
            self._computing.add(agreement)
        try:
            yield await self._worker(agreement) if takes else None
        finally:
            self._busy[agreement] -= 1
            if not self._busy[agreement]:
                del self._busy[agreement]
            if takes:
                self._computing.discard(agreement)
                self._make_room()

    async def _worker(self, agreement: bytes) -> WorkerProcess | None:
        worker = self._workers.pop(agreement, None)
        if worker is None or worker.is_gone:
            assert self._line is not None
            try:
                worker = await WorkerProcess.start(self._line, self._name)
            except OSError:
                return None  # no more processes or files: slower, and right all the same
        self._workers[agreement] = worker
        return worker

    def _make_room(self) -> None:
        for agreement in [name for name in self._workers if name not in self._computing]:
            if len(self._workers) <= MOST_WORKERS:
                return
            self.forget(agreement)

    @property
    def pids(self) -> dict[bytes, int]:
        """By agreement, the number of its process."""
        return {name: each.pid for name, each in self._workers.items() if not each.is_gone}

    def forget(self, agreement: bytes, /) -> None:
        """End the process of an agreement, if it has one."""
        worker = self._workers.pop(agreement, None)
        if worker is not None:
            worker.end()

    def close(self) -> None:
        for agreement in list(self._workers):
            self.forget(agreement)
        if self._line is not None:
            self._line.close()
