"""A problem whose weights are all here, evaluated on nodes: every participant is simulated here.

What `tacit solve` uses: the weights are shared and sealed for their owners just as the owners would
do it, so that the run is the real thing from the nodes on.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace
from numpy.typing import NDArray

from tacit.agreement.draft import draft_agreement, with_front
from tacit.agreement.sealing import SealedRows, seal_rows
from tacit.agreement.signatures import sign_agreement
from tacit.agreement.terms import (
    SAFE_GRACE,
    Agreement,
    AgreementLimits,
    FrontReveal,
    NodeTerms,
    OnLoss,
    PinnedSearch,
    PlanFor,
)
from tacit.coordinator.node_client import NodeOffer, ask_for_sealing_keys, clients_of
from tacit.coordinator.secure import SecureEngine
from tacit.derived import check_nodes_allow
from tacit.errors import PeerTimeoutError, ProblemError
from tacit.identity.certificates import read_certificate
from tacit.identity.config import ClusterConfig, parse_address
from tacit.mpc.transport import fingerprint
from tacit.problems import Problem
from tacit.records.ledger import Ledger

LIFETIME_SECONDS = 7 * 24 * 3600
OFFER_SECONDS = 10.0


def participant_keys(names: Iterable[str], /) -> dict[str, Ed25519PrivateKey]:
    return {name: Ed25519PrivateKey.generate() for name in names}


def public_keys(keys: dict[str, Ed25519PrivateKey], /) -> dict[str, str]:
    return {name: key.public_key().public_bytes_raw().hex() for name, key in keys.items()}


def all_sign(
    agreement: Agreement, participants: dict[str, Ed25519PrivateKey], /
) -> dict[str, bytes]:
    return {name: sign_agreement(agreement, key) for name, key in participants.items()}


def node_terms(cluster: ClusterConfig, /) -> list[NodeTerms]:
    """What an agreement says of a cluster's nodes, except for sealing keys: nodes draw them."""
    terms = []
    for node in cluster.nodes:
        host, port = parse_address(node.address)
        certificate = fingerprint(read_certificate(Path(cluster.folder) / node.certificate))
        terms.append(NodeTerms(host, port, node.signing_key, "", certificate, ""))
    return terms


def platform_certificate(cluster: ClusterConfig, /) -> str:
    """The fingerprint that an agreement names the platform by."""
    return fingerprint(read_certificate(Path(cluster.folder) / cluster.certificate))


def offered_node_terms(cluster: ClusterConfig, nonce: str, /) -> list[NodeTerms]:
    """What an agreement with this nonce says of a cluster's nodes; asks them for sealing keys."""
    return [each.node for each in node_offers(cluster, nonce)]


def node_offers(
    cluster: ClusterConfig, nonce: str, /, *, series: str | None = None
) -> list[NodeOffer]:
    """The same with what each node allows, for whoever drafts the agreement.

    Of a series with balances they tell what they have counted.
    """

    async def ask() -> list[NodeOffer]:
        clients = clients_of(cluster)
        try:
            return await ask_for_sealing_keys(
                clients,
                node_terms(cluster),
                nonce=nonce,
                platform=platform_certificate(cluster),
                within=OFFER_SECONDS,
                series=series,
            )
        except TimeoutError:
            raise PeerTimeoutError("the nodes", "offered no sealing keys; start them") from None
        finally:
            await asyncio.gather(*(client.disconnect() for client in clients))

    # In a thread, since whoever calls may have an event loop of its own.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, ask()).result()


class EngineRules(NamedTuple):
    """The rules of an agreement that need not be given."""

    reveal_best: bool = False
    on_loss: OnLoss = "wait"
    grace_seconds: float = SAFE_GRACE
    plan: PlanFor = "everybody"
    front: FrontReveal = "nothing"


def open_engine(
    problem: Problem,
    cluster: ClusterConfig,
    /,
    *,
    search: PinnedSearch,
    evaluations: int,
    population: tuple[int, int],
    rules: EngineRules = EngineRules(),  # noqa: B008 - frozen
    ledger: Ledger | None = None,
) -> tuple[SecureEngine, dict[str, bytes], list[SealedRows]]:
    """An engine that is not started yet, with the signatures and boxes that start it."""
    keys = participant_keys(participant.name for participant in problem.participants)
    nonce = secrets.token_hex(16)
    offers = node_offers(cluster, nonce)
    agreement = draft_agreement(
        problem,
        participants=public_keys(keys),
        nodes=[each.node for each in offers],
        platform=platform_certificate(cluster),
        nonce=nonce,
        search=search,
        limits=AgreementLimits(
            evaluations=evaluations,
            population_min=population[0],
            population_max=population[1],
            distinct_min=1,
            expires=int(time.time()) + LIFETIME_SECONDS,
        ),
        reveal_best=rules.reveal_best,
        on_loss=rules.on_loss,
        plan=rules.plan,
    )
    agreement = replace(with_front(agreement, rules.front), grace_seconds=rules.grace_seconds)
    check_nodes_allow(agreement, [each.allows for each in offers])
    sealed = [
        seal_rows(
            agreement,
            owner.participant,
            k,
            _weights(problem, k)[owner.rows],
            key=keys[owner.participant],
        )
        for k in agreement.confidential()
        for owner in agreement.objectives[k].owners
    ]
    engine = SecureEngine(
        agreement, cluster, ledger=ledger, public=_public_weights(problem), owners=keys
    )
    return engine, all_sign(agreement, keys), sealed


def _public_weights(problem: Problem) -> dict[int, NDArray[np.int64]]:
    return {
        k: each.weights
        for k, each in enumerate(problem.objectives)
        if not each.confidential and each.weights is not None
    }


def _weights(problem: Problem, objective: int) -> NDArray[np.int64]:
    chosen = problem.objectives[objective]
    if chosen.weights is None:
        raise ProblemError(
            f"the weights of objective {chosen.name!r} are not here: its participants seal them "
            "themselves"
        )
    return chosen.weights
