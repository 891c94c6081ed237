"""Three real nodes that know two platforms, and what an attacking one does to them.

Each attack goes on until its process is stopped.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from tacit.agreement.draft import draft_agreement
from tacit.agreement.sealing import SealedRows, seal_rows
from tacit.agreement.terms import (
    Agreement,
    AgreementLimits,
    Ownership,
    ParticipantTerms,
    PinnedSearch,
    agreement_hash,
    canonical,
)
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.coordinator.node_client import NodeClient
from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.errors import TacitError
from tacit.identity.certificates import new_certificate, read_certificate
from tacit.identity.config import load_cluster_config
from tacit.local.cluster import LocalCluster
from tacit.local.engine import (
    all_sign,
    offered_node_terms,
    participant_keys,
    platform_certificate,
    public_keys,
)
from tacit.mpc.transport import Header, Identity, encode
from tacit.problems import Problem, generate_assignment
from tacit.records.messages import TALK, Agree, Evaluate, FetchLog, Submit
from tacit.records.requests import NO_ATTEMPT

MEGABYTE = 1_000_000
EVALUATIONS = 1_000_000


@contextmanager
def two_platforms() -> Iterator[LocalCluster]:
    """A cluster whose nodes let `platform` and `attacker` in, with the limits of a real one."""
    with LocalCluster(chosen_populations=True) as cluster:
        new_certificate("attacker", cluster.folder)
        for node in range(3):
            cluster.kill(node)
            path = cluster.folder / f"node-{node}.toml"
            lines = path.read_text().replace('["platform.pem"]', '["platform.pem", "attacker.pem"]')
            own = (line for line in lines.splitlines(True) if "most_working" not in line)
            path.write_text("".join(own))
            cluster.restart(node)
        asyncio.run(answered(cluster))
        yield cluster


async def answered(cluster: LocalCluster) -> None:
    """Wait until every node answers: one that was started again does not listen at once."""
    for client in Platform(cluster.folder, "platform").clients():
        while not client.connected:
            cluster.check_alive()
            with suppress(TacitError):
                await client.connect()
            await asyncio.sleep(0.02)
        await client.disconnect()


def assignment(size: int, *, participants: int = 2) -> Problem:
    """A square assignment under `top:15`."""
    made = generate_assignment(1, rows=size, participants=participants)
    objective = replace(
        made.objectives[0],
        disclosure=parse_disclosure("top:15"),
        best_mode=parse_best_mode("nothing"),
        weight_bound=1000,
    )
    return replace(made, objectives=(objective,))


def plans(size: int, population: int, *, seed: int = 1) -> NDArray[np.int32]:
    """Random plans."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(size) for _ in range(population)], dtype=np.int32)


@dataclass
class Platform:
    """One platform of a cluster's folder, and the participants that it invents."""

    folder: Path
    name: str

    def clients(self) -> list[NodeClient]:
        """A link to each node, not connected yet."""
        config, folder = load_cluster_config(self.folder / "cluster.toml"), self.folder
        pinned = {
            f"node {i}": read_certificate(folder / node.certificate)
            for i, node in enumerate(config.nodes)
        }
        identity = Identity(folder / f"{self.name}.pem", folder / f"{self.name}.tls.key", pinned)
        return [NodeClient(i, node.address, identity, 0.0) for i, node in enumerate(config.nodes)]

    def draft(
        self, problem: Problem, population: int
    ) -> tuple[Agreement, dict[str, Ed25519PrivateKey]]:
        """An agreement about populations of up to this size, and who signs it."""
        keys = participant_keys(each.name for each in problem.participants)
        config = load_cluster_config(self.folder / "cluster.toml")
        own = msgspec.structs.replace(
            config, certificate=f"{self.name}.pem", tls_key=f"{self.name}.tls.key"
        )
        nonce = secrets.token_hex(16)
        agreement = draft_agreement(
            problem,
            participants=public_keys(keys),
            nodes=offered_node_terms(own, nonce),
            platform=platform_certificate(own),
            nonce=nonce,
            search=PinnedSearch("genetic", {}, seed=1),
            limits=AgreementLimits(
                evaluations=EVALUATIONS,
                population_min=20,
                population_max=population,
                distinct_min=1,
                expires=int(time.time()) + 3600,
            ),
        )
        return agreement, keys

    def agree(
        self, problem: Problem, population: int
    ) -> tuple[Agreement, dict[str, bytes], list[SealedRows]]:
        """An agreement, all its signatures, and all its sealed rows."""
        agreement, keys = self.draft(problem, population)
        weights = problem.objectives[0].weights
        sealed: list[Any] = []
        for owner in agreement.objectives[0].owners:
            if weights is not None:
                rows, key = weights[owner.rows], keys[owner.participant]
                sealed.append(seal_rows(agreement, owner.participant, 0, rows, key=key))
        return agreement, all_sign(agreement, keys), sealed


def peak_megabytes(cluster: LocalCluster) -> list[int]:
    """The largest resident memory of each node since `forget_peaks`."""
    found = []
    for process in cluster.processes:
        status = Path(f"/proc/{process.pid}/status").read_text()
        line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0")
        found.append(int(line.split()[1]) * 1024 // MEGABYTE)
    return found


def forget_peaks(cluster: LocalCluster) -> None:
    """Measure the largest memory from now on."""
    for process in cluster.processes:
        Path(f"/proc/{process.pid}/clear_refs").write_text("5")


SMALL, POPULATION = 20, 100
LARGE, LARGE_POPULATION = 1000, 1000
LARGEST = 60 << 20


async def idle(_: Platform) -> None:
    """Nothing, to compare with."""
    await asyncio.Event().wait()


def _crowded(agreement: Agreement, count: int) -> Agreement:
    names = [f"{number:05d}" for number in range(count)]
    owners = [Ownership(name, [row]) for row, name in enumerate(names)]
    return msgspec.structs.replace(
        agreement,
        problem=msgspec.structs.replace(agreement.problem, rows=count, columns=count),
        participants=[ParticipantTerms(name, f"{at:064x}") for at, name in enumerate(names)],
        objectives=[msgspec.structs.replace(agreement.objectives[0], owners=owners)],
    )


async def _always(client: NodeClient, make: Callable[[], object]) -> None:
    """Ask the same again and again, whatever the answer is."""
    while True:
        with suppress(TacitError, TimeoutError):
            await client.connect()
            await (await client.ask(make()))  # type: ignore[arg-type]
            continue
        await asyncio.sleep(0.01)


async def unsigned_agreements(attacker: Platform) -> None:
    """8 MB of agreement with 60,000 names and no signature, on four links to each node."""
    agreement, _ = attacker.draft(assignment(SMALL), POPULATION)
    request = Agree(agreement=canonical(_crowded(agreement, 60_000)), signatures={})
    clients = [client for _ in range(4) for client in attacker.clients()]
    await asyncio.gather(*(_always(client, lambda: request) for client in clients))


async def signed_agreements(attacker: Platform) -> None:
    """Agreements of 600,000 forbidden pairs each, signed by participants of its own invention."""

    def make() -> Agree:
        agreement, keys = attacker.draft(assignment(1000), POPULATION)
        pairs = [(row, column) for row in range(1000) for column in range(600)]
        large = msgspec.structs.replace(
            agreement, problem=msgspec.structs.replace(agreement.problem, forbidden=pairs)
        )
        return Agree(agreement=canonical(large), signatures=all_sign(large, keys))

    await asyncio.gather(*(_always(client, make) for client in attacker.clients()))


async def repeated_pairs(attacker: Platform) -> None:
    """A pair that is forbidden a million times, and 4.5 kB of candidates against them."""
    agreement, keys = attacker.draft(assignment(SMALL), 225)
    many = msgspec.structs.replace(
        agreement,
        problem=msgspec.structs.replace(agreement.problem, forbidden=[(0, 0)] * 1_000_000),
    )
    request = Agree(agreement=canonical(many), signatures=all_sign(many, keys))
    asked = _request(many, plans(SMALL, 225).astype(np.uint8).tobytes())
    clients = attacker.clients()
    await asyncio.gather(
        *(_always(client, lambda: request) for client in clients),
        *(_always(client, lambda: asked) for client in clients),
    )


def _request(agreement: Agreement, candidates: bytes) -> Evaluate:
    return Evaluate(
        agreement=agreement_hash(agreement),
        objective=0,
        number=1,
        epoch=1,
        attempt=1,
        disclosure="top:15",
        best="nothing",
        parent_attempt=NO_ATTEMPT,
        candidates=candidates,
    )


async def refusals(attacker: Platform) -> None:
    """Requests that are refused, 200 at a time: each wants a line in the log of its agreement."""
    agreement, signatures, sealed = attacker.agree(assignment(SMALL), POPULATION)
    coordinator = Coordinator(agreement, attacker.clients())
    await coordinator.start(signatures, sealed, within=60)
    wrong = msgspec.structs.replace(
        _request(agreement, plans(SMALL, 50).astype(np.uint8).tobytes()), number=77
    )
    while True:
        for client in coordinator.clients:
            with suppress(TacitError):
                await client.connect()
                asked = [await client.ask(wrong) for _ in range(200)]
                await asyncio.gather(*asked, return_exceptions=True)


async def large_evaluations(attacker: Platform) -> None:
    """1,000 plans of 1,000 x 1,000, one population after the other."""
    agreement, signatures, sealed = attacker.agree(assignment(LARGE), LARGE_POPULATION)
    coordinator = Coordinator(agreement, attacker.clients())
    await coordinator.start(signatures, sealed, within=300)
    evaluations, population = Evaluations(coordinator, 0), plans(LARGE, LARGE_POPULATION)
    while True:
        with suppress(TacitError):
            await evaluations.evaluate(population, until=None)


async def unread_pages(attacker: Platform) -> None:
    """Pages of a log, asked for on 32 links and never read."""
    agreement, signatures, sealed = attacker.agree(assignment(SMALL), POPULATION)
    coordinator = Coordinator(agreement, attacker.clients())
    await coordinator.start(signatures, sealed, within=60)
    request = FetchLog(agreement=agreement_hash(agreement))

    async def one(client: NodeClient) -> None:
        while True:
            with suppress(TacitError):
                await client.connect()
                client.mux.link._transport.pause_reading()  # type: ignore[attr-defined]
                for _ in range(200):
                    await client.ask(request)
            await asyncio.sleep(0.1)

    await asyncio.gather(*(one(client) for _ in range(32) for client in attacker.clients()))


async def large_frames(attacker: Platform) -> None:
    """Boxes of 60 MB that belong to no agreement, on two links to each node."""
    request = Submit(agreement=bytes(32), manifest=b"", signature=b"", box=bytes(LARGEST))
    clients = [client for _ in range(2) for client in attacker.clients()]
    await asyncio.gather(*(_always(client, lambda: request) for client in clients))


async def announced_frames(attacker: Platform) -> None:
    """Frames of 60 MB of which 1 kB is sent, on 48 links to each node."""
    head = encode(Header(TALK, bytes(8), depth=1, sequence=0, length=LARGEST))

    async def announce(client: NodeClient) -> None:
        while True:
            with suppress(TacitError):
                await client.connect()
                await client.mux.link.send(head, bytes(1000), timeout=1)
                while client.connected:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(0.1)

    await asyncio.gather(*(announce(client) for _ in range(48) for client in attacker.clients()))


ATTACKS: dict[str, Callable[[Platform], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        idle,
        unsigned_agreements,
        signed_agreements,
        repeated_pairs,
        refusals,
        large_evaluations,
        unread_pages,
        large_frames,
        announced_frames,
    )
}


def attack(name: str, folder: str) -> None:
    """The attacker's process."""
    asyncio.run(ATTACKS[name](Platform(Path(folder), "attacker")))  # type: ignore[arg-type]
