"""A platform that can ask for anything: what attacks on real nodes are written with."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from tacit.agreement.draft import draft_agreement
from tacit.agreement.sealing import SealedRows, seal_rows
from tacit.agreement.terms import (
    SAFE_GRACE,
    Agreement,
    AgreementLimits,
    PinnedSearch,
    agreement_hash,
    canonical,
)
from tacit.coordinator.coordinator import Coordinator
from tacit.coordinator.evaluations import Evaluations
from tacit.coordinator.node_client import NodeClient
from tacit.disclosure import parse_best_mode, parse_disclosure
from tacit.identity.certificates import read_certificate
from tacit.local.cluster import LocalCluster
from tacit.local.engine import (
    all_sign,
    offered_node_terms,
    participant_keys,
    platform_certificate,
    public_keys,
)
from tacit.mpc.transport import Identity, fingerprint
from tacit.node.keys import SEALING_KEYS, StoredSealingKey
from tacit.node.store import cipher_of_states, folder_name
from tacit.problems import Problem, generate_assignment
from tacit.records.events import LogEvent, RequestRefused
from tacit.records.log import verify_log
from tacit.records.messages import Agree, Evaluate, Message, Request
from tacit.records.requests import NO_ATTEMPT, pack_candidates

SOON_THREE: dict[str, Any] = {"on_loss": "three", "grace_seconds": 1.0}
"""Three nodes go on without the fourth, after less time than is safe: a test does not wait."""

T = TypeVar("T")
E = TypeVar("E", bound=LogEvent)
R = TypeVar("R", bound=Message)


def problem(disclose: str = "order", best: str = "value", rows: int = 6) -> Problem:
    made = generate_assignment(1, rows=rows, participants=2)
    objective = replace(
        made.objectives[0],
        disclosure=parse_disclosure(disclose),
        best_mode=parse_best_mode(best),
        weight_bound=1000,
    )
    return replace(made, objectives=(objective,))


def populations(count: int, *, size: int = 8, rows: int = 6, seed: int = 1) -> list[NDArray[Any]]:
    rng = np.random.default_rng(seed)
    return [
        np.array([rng.permutation(rows) for _ in range(size)], dtype=np.int32) for _ in range(count)
    ]


@dataclass
class AgreedCluster:
    """The parties of an agreement on a running cluster, with all that they know."""

    cluster: LocalCluster
    problem: Problem
    keys: dict[str, Ed25519PrivateKey]
    agreement: Agreement

    @classmethod
    def draft(
        cls, cluster: LocalCluster, made: Problem | None = None, **changes: Any
    ) -> AgreedCluster:
        made = made or problem()
        limits = {
            "evaluations": 20,
            "population_min": 4,
            "population_max": 300,
            "distinct_min": 2,
            "expires": int(time.time()) + 3600,
        }
        for name in limits:
            limits[name] = changes.pop(name, limits[name])
        grace = changes.pop("grace_seconds", SAFE_GRACE)
        keys = participant_keys(each.name for each in made.participants)
        nonce, offered = secrets.token_hex(16), changes.pop("offered", offered_node_terms)
        agreement = draft_agreement(
            made,
            participants=public_keys(keys),
            nodes=offered(cluster.config, nonce),
            platform=platform_certificate(cluster.config),
            nonce=nonce,
            search=changes.pop(
                "pinned",
                PinnedSearch(
                    "genetic",
                    changes.pop("search", {}),
                    changes.pop("seed", 1),
                    changes.pop("populations", "chosen"),
                ),
            ),
            limits=AgreementLimits(**limits),
            **changes,
        )
        agreed = msgspec.structs.replace(agreement, grace_seconds=grace)
        return cls(cluster, made, keys, agreed)

    @property
    def signatures(self) -> dict[str, bytes]:
        return all_sign(self.agreement, self.keys)

    def agree_request(self) -> Agree:
        return Agree(agreement=canonical(self.agreement), signatures=self.signatures)

    def seal(
        self,
        participant: str,
        objective: int = 0,
        *,
        weights: NDArray[Any] | None = None,
        version: int = 1,
    ) -> SealedRows:
        matrix = self.problem.objectives[objective].weights if weights is None else weights
        assert matrix is not None
        rows = matrix[self.agreement.rows_of(participant, objective)]
        key = self.keys[participant]
        return seal_rows(self.agreement, participant, objective, rows, key=key, version=version)

    def sealed(self) -> list[SealedRows]:
        return [self.seal(name, k) for k in self.agreement.confidential() for name in self.keys]

    def sealing_key(self, node: int) -> X25519PrivateKey:
        """What a node opens its boxes with, from its disk."""
        folder = self.cluster.folder / f"node-{node}.data" / SEALING_KEYS
        for path in folder.iterdir():
            stored = msgspec.msgpack.decode(path.read_bytes(), type=StoredSealingKey)
            if stored.nonce == self.agreement.nonce:
                return X25519PrivateKey.from_private_bytes(stored.secret)
        raise AssertionError("the key is gone")

    def folder_at(self, node: int) -> Path:
        """What a node keeps of the agreement."""
        name = folder_name(agreement_hash(self.agreement))
        return self.cluster.folder / f"node-{node}.data" / name

    def state_on_disk(self, node: int, name: str) -> bytes:
        """A state that a node keeps, decrypted."""
        cipher = cipher_of_states(self.sealing_key(node))
        return cipher.decrypt((self.folder_at(node) / name).read_bytes())

    def log(self, node: int) -> list[LogEvent]:
        return verify_log((self.folder_at(node) / "log.jsonl").read_bytes())

    def refusals(self, node: int = 0) -> list[str]:
        return [event.reason for event in self.events(node, RequestRefused)]

    def events(self, node: int, kind: type[E]) -> list[E]:
        return [event for event in self.log(node) if isinstance(event, kind)]

    def node_log(self, node: int) -> list[LogEvent]:
        return verify_log((self.cluster.folder / f"node-{node}.data" / "log.jsonl").read_bytes())

    @asynccontextmanager
    async def coordinator(self) -> AsyncIterator[Coordinator]:
        made = Coordinator(self.agreement, make_clients(self.cluster))
        try:
            yield made
        finally:
            await made.close()

    @asynccontextmanager
    async def ready(self) -> AsyncIterator[tuple[Coordinator, Evaluations]]:
        """Everything set up, as an honest platform does."""
        async with self.coordinator() as coordinator:
            await coordinator.start(self.signatures, self.sealed(), within=60)
            yield coordinator, Evaluations(coordinator, 0)

    def request(self, plans: NDArray[Any] | bytes, *, epoch: int, **changes: Any) -> Evaluate:
        terms = self.agreement.objectives[0]
        raw = (
            plans
            if isinstance(plans, bytes)
            else pack_candidates(self.agreement.known_problem, plans)
        )
        honest = Evaluate(
            agreement=agreement_hash(self.agreement),
            objective=0,
            number=1,
            epoch=epoch,
            attempt=1,
            disclosure=terms.disclosure,
            best=terms.best,
            parent_attempt=NO_ATTEMPT,
            candidates=raw,
        )
        return msgspec.structs.replace(honest, **changes)


def expected(agreed: AgreedCluster, plans: NDArray[Any]) -> list[int]:
    """What the clear specification discloses of a population."""
    fitness = agreed.problem.fitness(0, plans)
    return [int(label) for label in agreed.problem.objectives[0].disclosure.disclose(fitness)]


def make_clients(cluster: LocalCluster, identity: Identity | None = None) -> list[NodeClient]:
    config, folder = cluster.config, cluster.folder
    identity = identity or Identity(
        folder / config.certificate,
        folder / config.tls_key,
        {f"node {i}": read_certificate(folder / n.certificate) for i, n in enumerate(config.nodes)},
    )
    return [NodeClient(i, node.address, identity, 0.0) for i, node in enumerate(config.nodes)]


async def ask(client: NodeClient, message: Request[R], *, timeout: float = 60.0) -> R:
    async with asyncio.timeout(timeout):
        return await (await client.ask(message))


async def outcomes(
    clients: Sequence[NodeClient],
    make: Callable[[NodeClient], Request[R]],
    *,
    timeout: float = 60.0,
) -> list[R | BaseException]:
    futures = [await client.ask(make(client)) for client in clients]
    async with asyncio.timeout(timeout):
        return await asyncio.gather(*futures, return_exceptions=True)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def certificate_of(folder: Path, name: str) -> str:
    return fingerprint(read_certificate(folder / f"{name}.pem"))
