"""Two agreements at once at one node: on its event loop, in threads, or in a process each.

    python -m studies.benchmarks.node_cores  100 and 300 rows, three nodes
    python -m studies.benchmarks.node_cores --nodes 4 --rows 300 --repeats 5 --json FILE

Some steps of a sealed assignment, over TLS, in a process that may use one core or two. The peers
are scripted, so that they take little of the cores: what they send is recorded from a run
with the same keys and encrypted before the clock starts, and it is let go as soon as the node has
sent what comes before it. Seconds are the shortest of all repeats; processor seconds are those of
the node with its workers, and do not depend on what else the machine does.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from studies.benchmarks.engine import processor_seconds
from studies.benchmarks.measuring import options_of, write_json
from tacit.agreement.sealed_groups import AssignmentGroup
from tacit.agreement.sealed_run import SealedRun
from tacit.identity.certificates import new_certificate
from tacit.mpc import (
    ArithmeticShare,
    Context,
    Epoch,
    Session,
    SessionMux,
    Wire,
    deal,
    held_by,
    open_session,
)
from tacit.mpc.transport import (
    HEADER_BYTES,
    Buffer,
    Channel,
    Frame,
    Header,
    Identity,
    Mux,
    TlsLink,
    encode,
    memory_pair,
)
from tacit.node.processes import ForkLine, WorkerProcess
from tacit.node.sealed_progress import KeptState
from tacit.node.searching import Reached, solve_assignment
from tacit.node.store import decoder_of
from tacit.node.threads import BridgedMux, WorkerLoops
from tacit.problems import generate_assignment
from tacit.records.recording_mux import ForwardingMux
from tacit.records.requests import Attempt
from tacit.search.moves import AssignmentParameters

CONTEXT = Context(b"agreement", 0, 1, 0, b"request")
WAYS = ("loop", "threads", "processes")
STEPS = {100: 30, 300: 10}
"""Iterations, by rows; others get 10."""
RECORD, RECORD_OVERHEAD, AT_ONCE = 1 << 14, 22, 1 << 16
"""Bytes of a record of TLS, what it adds, and what a link writes in one piece with its header."""
PATIENCE = 1000.0


class Measured(msgspec.Struct, frozen=True):
    """One way of computing so many agreements at once."""

    rows: int
    way: str
    agreements: int
    cores: int
    seconds: float
    processor_seconds: float


class Content(msgspec.Struct, frozen=True):
    """All of it."""

    nodes: int
    measured: tuple[Measured, ...] = ()


@dataclass(frozen=True)
class Whole:
    """The start of an assignment and all its steps, in one computation."""

    run: SealedRun
    group: AssignmentGroup
    values: ArithmeticShare

    async def compute(self, session: Session, /) -> Reached:
        """Solve it."""
        shares: Sequence[ArithmeticShare] = []
        for end in (0, self.run.steps):
            stages = self.run.stages_between(0, end)
            shares, _ = await solve_assignment(
                session, self.run, self.group, stages, lambda _: self.values, shares
            )
        return Reached(KeptState(self.run.steps, Attempt("1:1:1"), shares), None)


class Sent(NamedTuple):
    """What a peer sends the node."""

    substream: int
    depth: int
    payload: bytes
    heard: int
    """Bytes that have come from the node before, as they are on the line."""


def on_the_line(size: int) -> int:
    """Bytes that a frame with so long a payload takes on a link over TLS."""
    pieces = [HEADER_BYTES + size] if size <= AT_ONCE else [HEADER_BYTES, size]
    return sum(each + RECORD_OVERHEAD * -(-each // RECORD) for each in pieces)


@dataclass
class Script:
    """All that a peer sends the node in a computation."""

    sent: list[Sent] = field(default_factory=list)
    heard: int = 0


class _RecordedWire:
    def __init__(self, wire: Wire, substream: int, script: Script) -> None:
        self._wire, self._substream, self._script = wire, substream, script
        self.fail, self.close = wire.fail, wire.close

    async def send(self, depth: int, payload: Buffer, *, timeout: float) -> None:
        script = self._script
        script.sent.append(Sent(self._substream, depth, bytes(payload), script.heard))
        await self._wire.send(depth, payload, timeout=timeout)

    async def receive(self, *, timeout: float) -> Frame:
        frame = await self._wire.receive(timeout=timeout)
        self._script.heard += on_the_line(frame.header.length)
        return frame


class _RecordingPeer(ForwardingMux):
    """A peer's link to the node."""

    def __init__(self, mux: SessionMux, script: Script) -> None:
        super().__init__(mux)
        self._script = script

    def open(self, channel: Channel, *, tag: bytes) -> _RecordedWire:
        return _RecordedWire(self._mux.open(channel, tag=tag), channel.substream, self._script)


class Cast:
    """The parties of one problem, with keys that are always the same."""

    def __init__(self, rows: int, nodes: int) -> None:
        problem = generate_assignment(1, rows=rows)
        weights = problem.objectives[0].weights
        if weights is None:
            raise TypeError("the problem was drawn without weights")
        settings = AssignmentParameters(iterations=STEPS.get(rows, 10), generations=4)
        run = SealedRun(problem, settings, ((1,),), settings.steps)
        group = run.groups[0].seeded(7)
        if not isinstance(group, AssignmentGroup):
            raise TypeError("the problem is no assignment")
        self.nodes = nodes
        self._keys = [os.urandom(32) for _ in range(nodes)]
        self.tasks = [
            Whole(run, group, each) for each in deal(weights.astype(np.uint64), nodes=nodes)
        ]
        self.scripts = {peer: Script() for peer in range(1, nodes)}
        self.expected = asyncio.run(self._rehearse())

    def epoch(self, me: int) -> Epoch:
        """The same keys at each call: nothing here is secret."""
        keys = {c: self._keys[c] for c in held_by(me, self.nodes)}
        return Epoch(keys, transcript=b"rehearsed")

    async def _rehearse(self) -> Reached:
        muxes: dict[int, dict[int, SessionMux]] = {me: {} for me in range(self.nodes)}
        for a in range(self.nodes):
            for b in range(a):
                here, there = memory_pair(f"node {a}", f"node {b}")
                muxes[a][b], muxes[b][a] = Mux(here), Mux(there)
        for peer, script in self.scripts.items():
            muxes[peer][0] = _RecordingPeer(muxes[peer][0], script)

        async def party(me: int) -> Reached:
            options: Any = {"me": me, "muxes": muxes[me], "epoch": self.epoch(me)}
            async with open_session(CONTEXT, timeout=PATIENCE, **options) as session:
                return await self.tasks[me].compute(session)

        return (await asyncio.gather(*map(party, range(self.nodes))))[0]


def play(script: Script, line: socket.socket, identity: Identity, ready: Any, go: Any) -> None:
    """Be a peer on one link: encrypt all of the script, then send it as the node comes along."""
    arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = identity.context(server=True).wrap_bio(arrived, leaving, server_side=True)
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            line.sendall(leaving.read())
            arrived.write(line.recv(1 << 16))
    line.sendall(leaving.read())
    encrypted, numbers = [], dict[int, int]()
    for each in script.sent:
        number = numbers.get(each.substream, 0)
        numbers[each.substream] = number + 1
        channel = CONTEXT.channel(each.substream)
        head = Header(channel, CONTEXT.tag, each.depth, number, len(each.payload))
        tls.write(encode(head) + each.payload)
        encrypted.append((each.heard, leaving.read()))
    ready.release()
    go.wait()
    heard, buffer = 0, bytearray(1 << 20)
    for due, data in encrypted:
        while heard < due:
            count = line.recv_into(buffer)
            if not count:
                return
            heard += count
        line.sendall(data)
    while line.recv_into(buffer):
        pass


def play_all(
    scripts: Sequence[Script],
    listener: socket.socket,
    identities: Mapping[int, Identity],
    begun: int,
) -> None:
    """Be all peers; `begun` is a pipe that says when everything is encrypted."""
    ready, go, threads = threading.Semaphore(0), threading.Event(), []
    for _ in scripts:
        line, _address = listener.accept()
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer = line.recv(1)[0]
        work = (scripts[peer - 1], line, identities[peer], ready, go)
        threads.append(threading.Thread(target=play, args=work))
        threads[-1].start()
    for _ in scripts:
        ready.acquire()
    os.write(begun, b"!")
    go.set()
    for thread in threads:
        thread.join()


async def compute(
    cast: Cast, way: str, agreements: int, port: int, identity: Identity, begun: int
) -> tuple[float, float]:
    """Be the node; return the seconds and the processor seconds that it takes."""
    sys.setswitchinterval(0.0005)
    loop, forks, threads = asyncio.get_running_loop(), FORKS[0], WorkerLoops()
    links: list[dict[int, Mux]] = []
    for _ in range(agreements):
        links.append({})
        for peer in cast.scripts:
            line = socket.create_connection(("127.0.0.1", port))
            line.sendall(bytes([peer]))
            line.setblocking(False)
            name = f"node {peer}"
            _, link = await loop.create_connection(
                lambda name=name: TlsLink(  # type: ignore[misc]
                    identity, name, lambda _: None, limit=64 << 20, frame_timeout=PATIENCE
                ),
                sock=line,
                ssl=identity.context(server=False),
                server_hostname="",
            )
            links[-1][peer] = Mux(link)
    workers = []
    for _ in range(agreements if way == "processes" else 0):
        if forks is None:
            raise OSError("no processes can be forked here")
        workers.append(await WorkerProcess.start(forks, "node 0"))
    while not all(each.pid for each in workers):
        await asyncio.sleep(0.01)
    await asyncio.to_thread(os.read, begun, 1)

    async def one(number: int) -> Reached:
        muxes: dict[int, SessionMux] = {**links[number]}
        if way == "threads":
            muxes = {peer: BridgedMux(mux) for peer, mux in muxes.items()}
        options: Any = {"me": 0, "muxes": muxes, "epoch": cast.epoch(0)}
        async with open_session(CONTEXT, timeout=PATIENCE, **options) as session:
            task = cast.tasks[0]
            if way == "processes":
                decoder = decoder_of(Reached)
                return await workers[number].compute(session, task, decoder, memory=1 << 30)
            if way == "threads":
                return await threads.run("platform", lambda: task.compute(session))
            return await task.compute(session)

    pids = [os.getpid(), *(each.pid for each in workers)]
    used, at = sum(map(processor_seconds, pids)), time.perf_counter()
    found = await asyncio.gather(*map(one, range(agreements)))
    took, used = time.perf_counter() - at, sum(map(processor_seconds, pids)) - used
    for each in found:
        for ours, theirs in zip(each.state.shares, cast.expected.state.shares, strict=True):
            if any(not np.array_equal(ours.parts[c], theirs.parts[c]) for c in theirs.parts):
                raise ValueError(f"{way}: another state than in the rehearsal")
    for muxes in links:
        for mux in muxes.values():
            await mux.close()
    for worker in workers:
        worker.end()
    threads.close()
    return took, used


FORKS: list[ForkLine | None] = []
"""Of the process that is the node; made before it has threads."""


def measured(cast: Cast, way: str, agreements: int, cores: int) -> tuple[float, float]:
    """Compute so many agreements at once on so many cores, in new processes."""
    with tempfile.TemporaryDirectory() as folder:
        files = [new_certificate(f"node-{i}", Path(folder)) for i in range(cast.nodes)]
        identities = {
            i: each.identity({f"node {k}": other.pem for k, other in enumerate(files) if k != i})
            for i, each in enumerate(files)
        }
        listener = socket.create_server(("127.0.0.1", 0))
        port, (begun, begins), (answer, answers) = listener.getsockname()[1], os.pipe(), os.pipe()
        peers = os.fork()
        if not peers:
            scripts = [*cast.scripts.values()] * agreements
            _leave(lambda: play_all(scripts, listener, identities, begins))
        node = os.fork()
        if not node:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])

            def be_the_node() -> None:
                FORKS.append(ForkLine.open())
                work = compute(cast, way, agreements, port, identities[0], begun)
                os.write(answers, msgspec.json.encode(asyncio.run(work)))

            _leave(be_the_node)
        os.close(answers)
        said = os.read(answer, 1 << 16)
        for pid in (node, peers):
            os.waitpid(pid, 0)
        for each in (answer, begun, begins):
            os.close(each)
        listener.close()
    return msgspec.json.decode(said, type=tuple[float, float])


def _leave(work: Any) -> None:
    """Do what a forked process is for, and end it."""
    try:
        work()
    except BaseException as error:
        print(f"{error!r}", file=sys.stderr, flush=True)
        os._exit(1)
    os._exit(0)


def table(content: Content, /) -> list[str]:
    """A Markdown table: seconds, processor seconds in brackets."""
    cases = ((1, 1), (1, 2), (2, 2))
    lines = ["| | one, one core | one, two cores | two, two cores |", "| --- |" + " --- |" * 3]
    found = {(m.rows, m.way, m.agreements, m.cores): m for m in content.measured}
    for rows, way in dict.fromkeys((m.rows, m.way) for m in content.measured):
        cells = [found[rows, way, *case] for case in cases]
        shown = (f"{each.seconds:.2f} s ({each.processor_seconds:.2f})" for each in cells)
        lines.append(f"| {rows} rows, {way} | " + " | ".join(shown) + " |")
    return lines


def main() -> None:
    """Measure all sizes and ways."""
    parser = options_of(__file__, __doc__, rows=(100, 300), nodes=3)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    made: list[Measured] = []
    for rows in options.rows:
        cast = Cast(rows, options.nodes)
        for way in WAYS:
            for agreements, cores in ((1, 1), (1, 2), (2, 2)):
                runs = [measured(cast, way, agreements, cores) for _ in range(options.repeats)]
                seconds, used = (round(min(each), 3) for each in zip(*runs, strict=True))
                made.append(Measured(rows, way, agreements, cores, seconds, used))
    content = Content(options.nodes, tuple(made))
    print("\n".join(table(content)))
    write_json(options.json, content)


if __name__ == "__main__":
    main()
