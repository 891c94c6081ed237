"""Compute for one agreement in a process of its own, which holds nothing but what it computes on.

::

    node       job: the batch, the session's keys     worker    computes, with a limit of memory
               letters of the peers              -->
               letters to the peers              <--
               result, or what went wrong        <--             and waits for the next job

The node keeps links, log, keys and policy. It draws up the session, so that no context is used
twice whatever a worker does, and hands over the keys of this one computation. What goes to peers
or platform passes the node, which counts, records and sends it. A worker ends with its end of the
pipe: when the node closes it or has been killed.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol, cast

import msgspec

from tacit.errors import AbortError, MismatchError, MpcError, PeerError, PeerLostError
from tacit.mpc import COORDINATOR, Session, SessionTerms
from tacit.mpc.transport import (
    Buffer,
    Channel,
    Frame,
    FrameKind,
    FrameReader,
    Header,
    Inbox,
    encode,
)
from tacit.node.store import encode_stored

PIPE_LIMIT = 1 << 30
"""Both ends are ours; a frame has a batch's whole state at most."""
WRITE_AHEAD = 8 << 20
"""Bytes that one end may be ahead of the other."""
WRITE_AT_ONCE = 1 << 16
"""Bytes of a payload that go with their header in one call."""
SLACK_BYTES = 64 << 20
"""What a worker may take beside what its agreement is said to need."""
OOM_SCORE = b"500"
"""Where memory runs out all the same, a worker goes before the node."""


class Task(Protocol):
    """What is computed; it travels to the worker with all that it needs."""

    async def compute(self, session: Session, /) -> msgspec.Struct:
        """Return what the node keeps of it."""


@dataclass(frozen=True)
class Job:
    """One computation, as it travels to a worker."""

    task: Task
    terms: SessionTerms
    memory: int
    """Bytes that it may take."""


class TaskDone(msgspec.Struct, frozen=True, tag=True):
    """A computation came to its end; its result is in another frame."""

    sent: int
    depth: int


class TaskFailed(msgspec.Struct, frozen=True, tag=True):
    """A computation failed."""

    kind: str
    """Of the error, if it is one about a peer."""
    peer: str
    what: str
    voucher: str = ""
    evidence: list[bytes] = []


READ_OUTCOME = msgspec.msgpack.Decoder(TaskDone | TaskFailed)
_KINDS: dict[str, type[PeerError]] = {
    each.__name__: each for each in (*PeerError.__subclasses__(), *PeerLostError.__subclasses__())
}
OUTCOME, RESULT = 0, 1
"""Numbers of the two frames that end a computation."""


class PipeEnd(asyncio.BufferedProtocol):
    """One end of the pipe between node and worker, in frames as on links.

    Those of a peer's wire name the peer and the substream.
    """

    def __init__(self, arrived: Callable[[Frame], None], gone: Callable[[], None]) -> None:
        self._arrived, self._gone = arrived, gone
        self._reader = FrameReader(limit=PIPE_LIMIT)
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WRITE_AHEAD)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._reader.room()

    def buffer_updated(self, nbytes: int) -> None:
        self._reader.took(nbytes)
        while True:
            self._reader.begin("the pipe")
            frame = self._reader.frame()
            if frame is None:
                return
            self._arrived(frame)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._writable.set()
        self._gone()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def put(
        self, kind: FrameKind, peer: int, substream: int, payload: Buffer, *, depth: int = 0
    ) -> None:
        """Write a frame; `room` says when the other end has caught up."""
        if self._transport is None or self._transport.is_closing():
            return
        channel = Channel(bytes(16), (peer - COORDINATOR), 0, 0, substream, kind)
        head = encode(Header(channel, bytes(8), depth, 0, memoryview(payload).nbytes))
        if memoryview(payload).nbytes <= WRITE_AT_ONCE:
            self._transport.write(b"".join((head, payload)))
        else:
            self._transport.write(head)
            self._transport.write(payload)

    async def room(self) -> None:
        await self._writable.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def wire_of(frame: Frame, /) -> tuple[int, int]:
    """The peer and the substream that a frame names."""
    return frame.header.channel.objective + COORDINATOR, frame.header.channel.substream


async def open_pipe(
    end: socket.socket, arrived: Callable[[Frame], None], gone: Callable[[], None]
) -> PipeEnd:
    end.setblocking(False)
    loop = asyncio.get_running_loop()
    _, pipe = await loop.create_connection(lambda: PipeEnd(arrived, gone), sock=end)
    return pipe


class _Wire:
    """A wire of the worker's session: the node has the real one."""

    def __init__(self, pipe: PipeEnd, peer: int, substream: int, name: str) -> None:
        self._pipe, self._peer, self._substream = pipe, peer, substream
        self.inbox = Inbox(name)
        # So that the node opens it, and passes on what comes there.
        pipe.put(FrameKind.EPOCH, peer, substream, b"")

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:  # noqa: ARG002
        self._pipe.put(FrameKind.PROTOCOL, self._peer, self._substream, payload, depth=depth)
        await self._pipe.room()

    async def receive(self, *, timeout: float) -> Frame:
        return await self.inbox.get(timeout=timeout)

    def fail(self, error: PeerError) -> None:
        self.inbox.fail(error)

    def close(self) -> None:
        """The node closes the real one."""


def failure_of(error: BaseException, name: str, /) -> TaskFailed:
    """Describe an error for the other end of the pipe."""
    if isinstance(error, MismatchError):
        return TaskFailed("MismatchError", error.peer, "", error.voucher, list(error.evidence))
    if isinstance(error, PeerError):
        return TaskFailed(type(error).__name__, error.peer, error.what)
    if isinstance(error, MemoryError):
        return TaskFailed("AbortError", name, "needs more memory than its agreement may take")
    text = str(error) if isinstance(error, MpcError) else f"failed itself ({type(error).__name__})"
    return TaskFailed("AbortError", name, text)


def error_of(failed: TaskFailed, /) -> PeerError:
    """The error that the other end had."""
    if failed.kind == "MismatchError":
        return MismatchError(failed.peer, failed.voucher, evidence=failed.evidence)
    return _KINDS.get(failed.kind, AbortError)(failed.peer, failed.what)


class _Computations:
    """The computations of a worker, one after the other."""

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[Frame] = asyncio.Queue()
        self._wires: dict[tuple[int, int], _Wire] = {}
        self._pipe: PipeEnd | None = None

    async def serve(self, end: socket.socket) -> None:
        # At once: nothing that it still computes is of use to anybody.
        self._pipe = await open_pipe(end, self._arrived, lambda: os._exit(0))
        self._pipe.put(FrameKind.CONTROL, COORDINATOR, OUTCOME, os.getpid().to_bytes(4, "little"))
        while True:
            frame = await self._jobs.get()
            await self._carry_out(pickle.loads(frame.payload))
            del frame

    def _arrived(self, frame: Frame) -> None:
        kind, wire = frame.header.channel.kind, self._wires.get(wire_of(frame))
        if kind is FrameKind.CONTROL:
            self._jobs.put_nowait(frame)
        elif wire is not None and kind is FrameKind.NOTICE:
            failed = READ_OUTCOME.decode(frame.payload)
            if isinstance(failed, TaskFailed):
                wire.fail(error_of(failed))
        elif wire is not None:
            wire.inbox.put(frame)

    async def _carry_out(self, job: Job) -> None:
        pipe, terms, name = self._pipe, job.terms, job.terms.own_name
        assert pipe is not None
        self._wires = {}

        def wire(peer: int, substream: int) -> _Wire:
            made = _Wire(pipe, peer, substream, session.name_of(peer))
            self._wires[peer, substream] = made
            return made

        session = terms.session(wire)
        try:
            limit_memory(job.memory)
            result = await job.task.compute(session)
            data = encode_stored(result)
        except Exception as error:
            said: TaskDone | TaskFailed = failure_of(error, name)
        else:
            said = TaskDone(session.sent, session.depth)
            pipe.put(FrameKind.CONTROL, COORDINATOR, RESULT, data)
        pipe.put(FrameKind.CONTROL, COORDINATOR, OUTCOME, msgspec.msgpack.encode(said))


def data_bytes() -> int:
    """Bytes of this process's memory that count for its limit."""
    status = Path("/proc/self/status").read_text()
    line = next(each for each in status.splitlines() if each.startswith("VmData:"))
    return int(line.split()[1]) << 10


def limit_memory(allowed: int, /) -> None:
    """Let allocations fail beyond so many bytes more than the process has now, and some slack."""
    # A unit's filter may forbid the call; then its own limit is for all together.
    with suppress(OSError, ValueError):
        most = data_bytes() + allowed + SLACK_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))


def work(end: socket.socket, /) -> NoReturn:
    """Be a worker, in a process that was forked for it, until the pipe is closed."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_bytes(OOM_SCORE)
    try:
        asyncio.run(_Computations().serve(end))
    except BaseException as error:
        print(f"tacit: a worker failed itself: {error!r}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def fork_on_request(line: socket.socket, /) -> NoReturn:
    """Fork a worker for each end of a pipe that comes, until the line is closed."""
    # By the end of its pipe a worker learns all that it has to know. Ctrl-C in a terminal, or a
    # unit that stops, is for the node, which still has answers to give.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for them
    while True:
        try:
            _, files, *_ = socket.recv_fds(line, 1, 1)
        except OSError:
            os._exit(0)
        if not files:
            os._exit(0)
        try:
            is_child = os.fork() == 0
        except OSError:
            is_child = False  # the node finds the pipe closed, and computes itself
        if is_child:
            line.close()
            work(socket.socket(fileno=files[0]))
        os.close(files[0])


def job_frame(task: Task, terms: SessionTerms, memory: int, /) -> bytes:
    return pickle.dumps(Job(task, terms, memory), protocol=5)
