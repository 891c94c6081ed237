"""A relay between hosts whose links have a delay, jitter, a bandwidth, and faults.

It stands in for `netem`, which not every kernel has. TCP is carried, not packets: bytes arrive late
and in order, a partition holds them back without a word to either side, and a broken connection is
reset at both ends.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

from tacit.identity.config import parse_address

CHUNK = 1 << 16
AHEAD = 64
"""Chunks under way in one direction; beyond that the sender has to wait."""
LOOK_SECONDS = 0.01
"""How soon the end of a partition is noticed."""


@dataclass(frozen=True)
class Quality:
    """Of every link, in each direction."""

    delay: float = 0.0
    """Seconds from end to end."""
    jitter: float = 0.0
    """Up to so many seconds more, drawn for each chunk."""
    bandwidth: float | None = None
    """Bytes per second of one connection."""
    breaks_per_minute: float = 0.0
    """How many connections are reset, of all."""


@dataclass(frozen=True)
class Way:
    """Where the relay listens for a host, and where it passes on to."""

    host: str
    here: str
    there: str


@dataclass(eq=False)
class _Connection:
    ends: frozenset[str]
    transports: list[asyncio.WriteTransport] = field(default_factory=list)

    def reset(self) -> None:
        for each in self.transports:
            each.abort()


class Relay:
    """One thread; what is said to it takes effect at once, for connections that exist too."""

    def __init__(
        self,
        ways: Sequence[Way],
        hosts: dict[str, str],
        place: Callable[[], AbstractContextManager[None]],
        *,
        seed: int = 1,
    ) -> None:
        """`hosts` names who calls, by address; `place` is where the thread lives."""
        self._ways, self._hosts, self._place = ways, hosts, place
        self._random = random.Random(seed)
        self._apart: frozenset[frozenset[str]] = frozenset()
        self._connections: set[_Connection] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready, self._failure = threading.Event(), ""
        self.quality = Quality()
        self.opened = 0
        self.broken = 0
        self.carried = 0
        """Bytes."""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._failure:
            raise RuntimeError(f"the relay did not start: {self._failure}")

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def part(self, host: str, others: Sequence[str]) -> None:
        """Hold back whatever a host and these others say to each other."""
        self._apart |= {frozenset({host, other}) for other in others}

    def mend(self) -> None:
        """End all partitions: what was held back arrives."""
        self._apart = frozenset()

    def reset(self, host: str) -> None:
        """Break all connections of a host; it may open new ones at once."""
        self._loop.call_soon_threadsafe(self._reset, host)

    def _reset(self, host: str) -> None:
        for connection in self._connections:
            if host in connection.ends:
                connection.reset()
                self.broken += 1

    def _live(self) -> None:
        try:
            with self._place():
                asyncio.run(self._main())
        except OSError as error:
            self._failure = str(error)
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        servers = [await self._listen(way) for way in self._ways]
        self._ready.set()
        breaking = asyncio.create_task(self._break_now_and_then())
        await self._stop.wait()
        breaking.cancel()
        for server in servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, way: Way) -> asyncio.Server:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                await self._carry(way, reader, writer)
            finally:
                self._tasks.discard(task)

        host, port = parse_address(way.here)
        return await asyncio.start_server(serve, host, port)

    async def _carry(
        self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        caller = self._hosts[writer.get_extra_info("peername")[0]]
        connection = _Connection(frozenset({caller, way.host}), [writer.transport])
        self._connections.add(connection)
        self.opened += 1
        try:
            # As a handshake would: there and back.
            await asyncio.sleep(2 * self.quality.delay)
            await self._whole(connection)
            far_reader, far_writer = await asyncio.open_connection(*parse_address(way.there))
            connection.transports.append(far_writer.transport)
            await asyncio.gather(
                self._one_way(reader, far_writer, connection),
                self._one_way(far_reader, writer, connection),
            )
        except (OSError, asyncio.CancelledError):
            pass  # a connection that breaks, or the end of the test
        finally:
            connection.reset()
            self._connections.discard(connection)

    async def _one_way(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: _Connection
    ) -> None:
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(AHEAD)
        delivering = asyncio.create_task(self._deliver(under_way, writer, connection))
        loop = asyncio.get_running_loop()
        free, due = 0.0, 0.0
        try:
            while data := await reader.read(CHUNK):
                quality = self.quality
                free = max(free, loop.time())
                if quality.bandwidth is not None:
                    free += len(data) / quality.bandwidth
                late = quality.delay + self._random.uniform(0.0, quality.jitter)
                due = max(due, free + late)  # never before what was sent earlier
                await under_way.put((due, data))
            await under_way.put((due, b""))
            await delivering
        finally:
            delivering.cancel()

    async def _deliver(
        self,
        under_way: asyncio.Queue[tuple[float, bytes]],
        writer: asyncio.StreamWriter,
        connection: _Connection,
    ) -> None:
        while True:
            due, data = await under_way.get()
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            await self._whole(connection)
            if not data:
                with suppress(OSError):
                    writer.write_eof() if writer.can_write_eof() else writer.close()
                return
            writer.write(data)
            self.carried += len(data)
            await writer.drain()

    async def _whole(self, connection: _Connection) -> None:
        while connection.ends in self._apart:
            await asyncio.sleep(LOOK_SECONDS)

    async def _break_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(0.1)
            if self._random.random() < self.quality.breaks_per_minute / 600 and self._connections:
                self._random.choice(list(self._connections)).reset()
                self.broken += 1
