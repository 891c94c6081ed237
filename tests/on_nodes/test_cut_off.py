"""A node that is cut off: its process lives, its connections stay open, and nothing arrives."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tacit.identity.config import parse_address
from tacit.local.cluster import LocalCluster
from tests.on_nodes.agreed_cluster import AgreedCluster, populations, run
from tests.on_nodes.deadlines import raises_in_time

pytestmark = pytest.mark.processes


class Cable:
    """A wire to one node that can be cut without anybody being told."""

    def __init__(self, here: socket.socket, target: str) -> None:
        self._here, self._there = here, parse_address(target)
        self._whole = threading.Event()
        self._whole.set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)
        self._thread.start()
        self._ready.wait()

    def cut(self) -> None:
        self._whole.clear()

    def mend(self) -> None:
        self._whole.set()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._serve, sock=self._here)
        self._ready.set()
        await self._stop.wait()
        server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            other_reader, other_writer = await asyncio.open_connection(*self._there)
            writers.append(other_writer)
            await asyncio.gather(
                self._pass_on(reader, other_writer), self._pass_on(other_reader, writer)
            )
        except (OSError, asyncio.CancelledError):
            pass  # a connection that breaks, or the end of the test
        finally:
            for each in writers:
                each.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(1 << 16):
                while not self._whole.is_set():
                    await asyncio.sleep(0.01)
                writer.write(data)
        except ConnectionError:
            pass
        writer.close()


@pytest.fixture
def cabled() -> Iterator[tuple[LocalCluster, list[Cable]]]:
    # Held from the beginning, so that nobody else gets these ports meanwhile.
    ends = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    addresses = [f"127.0.0.1:{end.getsockname()[1]}" for end in ends]
    with LocalCluster(addresses=addresses, chosen_populations=True) as cluster:
        cables = [Cable(here, there) for here, there in zip(ends, cluster.listen, strict=True)]
        yield cluster, cables
    for cable in cables:
        cable.close()


def test_a_node_that_is_cut_off_is_named_and_welcome_back(
    cabled: tuple[LocalCluster, list[Cable]],
) -> None:
    cluster, cables = cabled
    agreed = AgreedCluster.draft(cluster)
    first, second, third = populations(3)

    async def evaluate() -> None:
        async with agreed.ready() as (_, evaluations):
            await evaluations.evaluate(first, until=None)
            # Node 0 is dialled by everybody, so all its connections run through its cable.
            cables[0].cut()
            await raises_in_time(
                lambda until: evaluations.evaluate(second, until=until), "node 0", seconds=1.0
            )
            cables[0].mend()
            told = await evaluations.evaluate(third, until=time.monotonic() + 60)
            expected = agreed.problem.objectives[0].disclosure.disclose(
                agreed.problem.fitness(0, third)
            )
            assert told.payload.labels == expected.tolist()

    run(evaluate())
