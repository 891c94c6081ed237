"""A node in this process, without peers."""

from __future__ import annotations

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from msgspec.structs import replace

from tacit.agreement.draft import draft_agreement
from tacit.agreement.signatures import sign_offer
from tacit.agreement.terms import Agreement, AgreementLimits, PinnedSearch
from tacit.identity.certificates import read_certificate
from tacit.identity.config import load_cluster_config, load_node_config
from tacit.identity.keys import load_keys
from tacit.local.engine import all_sign, node_terms, participant_keys, public_keys
from tacit.mpc.transport import fingerprint
from tacit.node.server import Node
from tacit.problems import Problem
from tacit.records.events import LogEvent
from tacit.records.log import verify_log
from tacit.records.messages import OfferSealingKey
from tests.on_nodes.fixtures import example_problem


def node(folder: Path) -> Node:
    return Node(load_node_config(folder / "node-0.toml"))


def lines(folder: Path) -> list[LogEvent]:
    return verify_log((folder / "node-0.data" / "log.jsonl").read_bytes())


def platform_of(folder: Path) -> str:
    return fingerprint(read_certificate(folder / "platform.pem"))


def drafted(
    node: Node, folder: Path, problem: Problem | None = None, **search: Any
) -> tuple[Agreement, dict[str, bytes], str]:
    """An agreement that the node would take, and the platform that it is with."""
    keys = participant_keys(["owner"])
    platform = platform_of(folder)
    nonce = secrets.token_hex(16)
    nodes = node_terms(load_cluster_config(folder / "cluster.toml"))
    asked = OfferSealingKey(nonce=nonce, platform=platform, signing_key=nodes[0].signing_key)
    offer = node.offer_sealing_key(asked, platform)
    nodes[0] = replace(nodes[0], sealing_key=offer[0], sealing_signature=offer[1])
    for k in (1, 2):
        public = X25519PrivateKey.generate().public_key().public_bytes_raw().hex()
        signing = load_keys(folder / f"node-{k}.key").signing
        made = sign_offer(signing, nonce=nonce, platform=platform, sealing_key=public)
        nodes[k] = replace(nodes[k], sealing_key=public, sealing_signature=made)
    agreement = draft_agreement(
        problem or example_problem(),
        participants=public_keys(keys),
        nodes=nodes,
        platform=platform,
        nonce=nonce,
        search=PinnedSearch(
            **{"algorithm": "genetic", "parameters": {"population": 4}, "seed": None} | search
        ),
        limits=AgreementLimits(
            evaluations=10,
            population_min=2,
            population_max=100,
            distinct_min=2,
            expires=int(time.time()) + 3600,
        ),
    )
    return agreement, all_sign(agreement, keys), platform


def agree(node: Node, folder: Path) -> tuple[Agreement, dict[str, bytes], str]:
    """An agreement that the node takes."""
    made = drafted(node, folder)
    asyncio.run(node.take_agreement(*made))
    return made
