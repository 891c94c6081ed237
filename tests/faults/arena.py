"""A platform, its nodes and three participants, and all that a fault can strike.

`open_arena` has every party on a host of its own, with a small disk of its own, joined by a relay;
that needs root. `arena_of` takes nodes and a platform that run already, for faults that need none.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from studies.benchmarks.live_platform import LivePlatform, children

from tacit import participant
from tacit.client import PlatformClient
from tacit.errors import OverloadedError, UnreachableError
from tacit.identity import load_cluster_config, load_keys
from tacit.identity.cluster import write_cluster
from tacit.service.server.settings import write_settings
from tests.deployment.hosts import Hosts
from tests.deployment.parties import TACIT, Server, typed
from tests.deployment.relay import Relay
from tests.faults.disks import Disk
from tests.service.postgres import PostgresServer, new_database, postgres_server

NAMES = ("alder", "aspen", "acacia")
"""Of nobody else: other tests share a platform with a few faults, and it invites nobody twice."""
OPERATOR = "harness"
HEALTHY_SECONDS = 120.0
ASK_EVERY_SECONDS = 0.1


class Running(Protocol):
    """A process that can be started again."""

    def start(self) -> None:
        """Start it; it may take a while until it answers."""

    def kill(self) -> None:
        """End it as a crash would, if it runs."""

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""

    @property
    def pid(self) -> int | None:
        """Its number, if it runs."""


class ServerProcess(Server):
    """A node or a platform as its operator starts it."""

    def start(self, environment: Mapping[str, str] | None = None) -> None:
        with self.place(), self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.tacit, *self.words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(environment or {})},
            )

    def kill(self) -> None:
        self.end(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(number)

    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process is not None and self.process.poll() is not None

    @property
    def pid(self) -> int | None:
        return None if self.process is None else self.process.pid


@dataclass
class LocalNode:
    """A node of a local cluster, which is forked."""

    live: LivePlatform
    number: int

    def start(self) -> None:
        self.live.clusters[0].restart(self.number)

    def kill(self) -> None:
        self.live.clusters[0].kill(self.number)

    def send(self, number: signal.Signals) -> None:
        self.live.clusters[0].processes[self.number].send_signal(number)

    @property
    def pid(self) -> int | None:
        return self.live.clusters[0].processes[self.number].pid


@dataclass
class LocalPlatform:
    """The platform's process of `LivePlatform`."""

    live: LivePlatform

    def start(self) -> None:
        self.live.start()

    def kill(self) -> None:
        self.live.kill()

    def send(self, number: signal.Signals) -> None:
        if self.live.process is not None:
            self.live.process.send_signal(number)

    @property
    def pid(self) -> int | None:
        return None if self.live.process is None else self.live.process.pid


@dataclass
class Party:
    """A node or the platform: its process, its data and its disk."""

    name: str
    process: Running
    data: Path
    disk: Disk | None = None


@dataclass
class Arena:
    """All parties, and ways to reach them."""

    name: str
    folder: Path
    url: str
    ca: Path
    log: Path
    """Of the platform."""
    cluster: Path
    """The folder with the certificates of nodes and platform."""
    nodes: list[Party]
    platform: Party
    token: str = ""
    people: dict[str, participant.Profile] = field(default_factory=dict)
    relay: Relay | None = None
    postgres: PostgresServer | None = None

    def client(self) -> PlatformClient:
        """A connection of the operator."""
        return PlatformClient(self.url, token=self.token, ca=self.ca)

    @property
    def parties(self) -> list[Party]:
        return [*self.nodes, self.platform]

    @property
    def on_loss(self) -> str:
        """What participants agree on for the loss of a node."""
        return "three" if len(self.nodes) == 4 else "wait"

    def workers(self) -> list[int]:
        """The processes that search: children of what the platform forks them from."""
        pid = self.platform.process.pid
        if pid is None:
            return []
        return [each for child in children(pid) for each in children(child)]

    def wait_until_healthy(self, *, seconds: float = HEALTHY_SECONDS) -> float:
        """Wait until the platform answers and reaches all nodes; returns how long that took."""
        begun = time.monotonic()
        away = "the platform does not answer"
        with self.client() as client:
            while time.monotonic() - begun < seconds:
                self.check_alive()
                try:
                    (cluster,) = client.clusters()
                except (OverloadedError, UnreachableError):
                    time.sleep(ASK_EVERY_SECONDS)
                    continue
                gone = [str(i) for i, node in enumerate(cluster.nodes) if not node.reachable]
                if not gone:
                    return time.monotonic() - begun
                away = f"the platform does not reach node {', '.join(gone)}"
                time.sleep(ASK_EVERY_SECONDS)
        raise RuntimeError(f"{away} within {seconds:g} s")

    def check_alive(self) -> None:
        """Raise an error if a process has ended by itself."""
        for party in self.parties:
            server = party.process
            if isinstance(server, ServerProcess):
                server.check()

    def enter(self, code: str) -> None:
        """The operator joins, then the participants, who pin each other's keys and the nodes'."""
        with PlatformClient(self.url, ca=self.ca) as client:
            self.token = client.join(code).token
            codes = {name: client.accounts.add(name, "participant").invitation for name in NAMES}
        for name, invitation in codes.items():
            home = self.folder / "people" / name
            key = participant.new_key_file(name, home)
            self.people[name] = participant.join(
                self.url, invitation, profile=home, key=key, ca=self.ca
            )
        keys = [participant.participant_entry(n, p.keys()) for n, p in self.people.items()]
        config = load_cluster_config(self.cluster / "cluster.toml")
        keys += [
            participant.node_entry(load_keys(self.cluster / f"node-{i}.key"), node.address)
            for i, node in enumerate(config.nodes)
        ]
        for profile in self.people.values():
            participant.save_trust(participant.joined_trust(keys), profile.trust_file)


def resident_megabytes(pid: int) -> float | None:
    """What a process has in memory; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0].split()[1]) / 1024 if found else None


def arena_of(live: LivePlatform) -> Arena:
    """What runs already on this machine; its participants are new."""
    cluster = live.clusters[0].folder
    arena = Arena(
        name="local",
        folder=live.folder,
        url=live.settings.url,
        ca=live.ca,
        log=live.folder / "platform.log",
        cluster=cluster,
        nodes=[
            Party(f"node {i}", LocalNode(live, i), cluster / f"node-{i}.data")
            for i in range(len(live.clusters[0].processes))
        ],
        platform=Party("platform", LocalPlatform(live), live.settings.data_folder),
    )
    invited = ("service", "invite", OPERATOR, "--config", live.config)
    arena.enter(typed(TACIT, *invited).strip())
    return arena


@contextmanager
def open_arena(*, nodes: int, postgres: bool) -> Iterator[Arena]:
    """Parties on hosts and disks of their own; all of it goes with the block. Needs root."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tacit-faults-")))
        names = [f"node-{i}" for i in range(nodes)]
        ports = {**dict.fromkeys(names, 9000), "platform": 8443}
        hosts = stack.enter_context(Hosts([*names, "platform", "people"], ports=ports))
        stack.enter_context(hosts.inside("people"))
        server = stack.enter_context(postgres_server()) if postgres else None
        arena = _arena(folder, hosts, names, server)
        for party in arena.parties:
            assert party.disk is not None
            stack.callback(party.disk.unmount)
            party.disk.mount()
        config = arena.folder / "web" / "service.toml"
        code = typed(TACIT, "service", "invite", OPERATOR, "--config", config).strip()
        for party in arena.parties:
            stack.callback(party.process.kill)
            party.process.start()
        _wait_for_an_answer(arena)
        arena.enter(code)
        arena.wait_until_healthy()
        yield arena


def _wait_for_an_answer(arena: Arena) -> None:
    until = time.monotonic() + HEALTHY_SECONDS
    with PlatformClient(arena.url, ca=arena.ca) as client:
        while True:
            arena.check_alive()
            try:
                client.health()
            except UnreachableError:
                if time.monotonic() > until:
                    raise
                time.sleep(ASK_EVERY_SECONDS)
            else:
                return


def _arena(
    folder: Path, hosts: Hosts, names: Sequence[str], server: PostgresServer | None
) -> Arena:
    """Config files, and parties that are not started yet."""
    cluster, web, disk = folder / "cluster", folder / "web", folder / "web" / "disk"
    listen = ["0.0.0.0:9000"] * len(names)
    write_cluster(cluster, [hosts.address(name) for name in names], listen=listen)
    config = write_settings(
        web,
        clusters=[cluster / "cluster.toml"],
        listen="0.0.0.0:8443",
        url=f"https://{hosts.address('platform')}",
        data=disk,
    )
    text = re.sub(r"(requests_per_minute) = \d+", r"\1 = 1000000", config.read_text())
    if server is not None:
        text = re.sub(r"(?m)^database = .*$", f'database = "{new_database(server.url)}"', text)
    config.write_text(text)

    def party(host: str, data: Path, *words: str | Path) -> Party:
        process = ServerProcess(words, folder / f"{host}.log", TACIT, partial(hosts.inside, host))
        return Party(host.replace("-", " "), process, data, Disk(data))

    return Arena(
        name=f"{len(names)} nodes, {'SQLite' if server is None else 'PostgreSQL'}",
        folder=folder,
        url=f"https://{hosts.address('platform')}",
        ca=web / "service.pem",
        log=folder / "platform.log",
        cluster=cluster,
        nodes=[
            party(n, cluster / f"{n}.data", "node", "run", "--config", cluster / f"{n}.toml")
            for n in names
        ],
        platform=party("platform", disk, "service", "run", "--config", config),
        relay=hosts.relay,
        postgres=server,
    )
