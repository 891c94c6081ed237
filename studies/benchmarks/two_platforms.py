"""Three real nodes that know two platforms, and what either can ask of them."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from numpy.typing import NDArray

from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.engine.agreement.draft import draft_agreement
from tacit.engine.agreement.sealing import SealedRows, seal_rows
from tacit.engine.agreement.terms import Agreement, AgreementLimits, PinnedSearch
from tacit.engine.coordinator.node_client import NodeClient
from tacit.engine.identity.certificates import new_certificate, read_certificate
from tacit.engine.identity.config import load_cluster_config
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.local.engine import (
    all_sign,
    offered_node_terms,
    participant_keys,
    platform_certificate,
    public_keys,
)
from tacit.errors import TacitError
from tacit.mpc.transport import Identity
from tacit.problems import Problem, generate_assignment

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
