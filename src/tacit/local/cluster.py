"""Nodes on this machine, as processes of their own, for as long as a `with` block lasts.

Each node holds the end of a pipe from this process and stops when the pipe closes, which the
operating system does whatever happens to us; it then removes the folder, if we did not. So neither
processes nor keys are left behind. The process that nodes are forked from removes it as well, in
case we end before there is a node.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tacit.errors import EngineError
from tacit.identity.cluster import LOCAL_PREFIX, write_cluster
from tacit.identity.config import ClusterConfig, load_cluster_config
from tacit.local.node_processes import NODE, START_SECONDS, NodeProcess, shared_fork_server

OWN_MEGABYTES = 1_000_000
"""On the machine of the only one who asks, memory is its own affair."""
ROOM = 1 << 30
"""Bytes that must be free in memory for the nodes' files to go there."""


PORTS = range(10_000, 32_000)
"""Below those that systems give to outgoing connections, which may take any between two looks."""


def free_addresses(count: int, /) -> list[str]:
    """Addresses on this machine that nobody listens at."""
    found: set[int] = set()
    while len(found) < count:
        port = secrets.choice(PORTS)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.add(port)
    return [f"127.0.0.1:{port}" for port in found]


def memory_folder() -> Path | None:
    """Where files stay in memory, if there is plenty of room, so that no key meets a disk."""
    place = Path("/dev/shm")
    if not os.access(place, os.W_OK) or shutil.disk_usage(place).free < ROOM:
        return None
    return place


class LocalCluster:
    """Three or four nodes in a temporary folder."""

    def __init__(
        self,
        *,
        nodes: int = 3,
        timeout_seconds: float = 10.0,
        delay_ms: float = 0.0,
        addresses: Sequence[str] | None = None,
        any_search: bool = True,
        chosen_populations: bool = False,
        most_working_megabytes: int = OWN_MEGABYTES,
    ) -> None:
        """`addresses` are where others find the nodes, if something stands in between.

        Whoever starts nodes here may search as he likes; nodes elsewhere take what was measured.
        """
        self._any_search = any_search
        self._most_working = most_working_megabytes
        self._timeout, self._delay = timeout_seconds, delay_ms
        self._chosen = chosen_populations
        self.listen = free_addresses(nodes)
        self._addresses = list(addresses or self.listen)
        self.folder = Path()
        self.processes: list[NodeProcess] = []

    def __enter__(self) -> LocalCluster:
        shared_fork_server().open()
        self.folder = Path(tempfile.mkdtemp(prefix=LOCAL_PREFIX, dir=memory_folder()))
        # Before there is a key in it, so that a kill at any later instant leaves none behind.
        shared_fork_server().throw_away(self.folder)
        try:
            write_cluster(
                self.folder,
                self._addresses,
                listen=self.listen,
                timeout_seconds=self._timeout,
                delay_ms=self._delay,
                any_search=self._any_search,
                chosen_populations=self._chosen,
                most_working_megabytes=self._most_working,
            )
            for i in range(len(self.listen)):
                self.processes.append(self._launch(i))
            self._wait_until_up()
        except BaseException:
            # Nodes that did start must not outlive a block that was never entered.
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def config(self) -> ClusterConfig:
        return load_cluster_config(self.folder / "cluster.toml")

    def _launch(self, node: int) -> NodeProcess:
        path = self.folder / f"node-{node}.toml"
        with (self.folder / f"node-{node}.err").open("ab") as errors:
            return shared_fork_server().start(NODE, [str(path), "--throw-away"], errors)

    def _wait_until_up(self) -> None:
        """Wait for the line in each node's log that says that it listens."""
        logs = [self.folder / f"node-{i}.data" / "log.jsonl" for i in range(len(self.listen))]
        deadline = time.monotonic() + START_SECONDS
        while not all(log.exists() and b'"started"' in log.read_bytes() for log in logs):
            self.check_alive()
            if time.monotonic() > deadline:
                raise EngineError(f"the nodes did not start within {START_SECONDS:g} s")
            time.sleep(0.01)

    def kill(self, node: int, /) -> None:
        """End a node at once, as a crash would."""
        process = self.processes[node]
        process.kill()
        process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def restart(self, node: int, /) -> None:
        self.processes[node] = self._launch(node)

    def check_alive(self) -> None:
        """Raise an error with what a node said last, if one has ended by itself."""
        for i, process in enumerate(self.processes):
            if process.poll() is not None:
                last_words = (self.folder / f"node-{i}.err").read_text()[-500:].strip()
                raise EngineError(f"node {i} ended with code {process.returncode}: {last_words}")

    def stop(self) -> None:
        """Stop all nodes, those that hang too, and remove their folder."""
        for process in self.processes:
            if process.stdin is not None:
                process.stdin.close()
        # Their folder goes with them, so there is nothing to wait for, and a result may be due.
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        self.processes.clear()
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = Path()
