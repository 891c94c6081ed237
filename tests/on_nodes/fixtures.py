"""The parties of a tiny problem with all their keys, and the agreement that they signed."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from tacit.agreement.draft import draft_agreement
from tacit.agreement.signatures import sign_offer
from tacit.agreement.terms import Agreement, AgreementLimits, NodeTerms, PinnedSearch
from tacit.disclosure import parse_disclosure
from tacit.identity.keys import Keys
from tacit.local.engine import all_sign, participant_keys, public_keys
from tacit.problems import Assignment, Objective, Problem


@dataclass(frozen=True)
class Cast:
    """The parties of an agreement, with their secrets, and the agreement that they all signed."""

    participants: dict[str, Ed25519PrivateKey]
    nodes: tuple[Keys, ...]
    sealing: tuple[X25519PrivateKey, ...]
    """What the nodes open their boxes with."""
    agreement: Agreement
    signatures: dict[str, bytes]


def example_problem() -> Problem:
    """A tiny assignment of two rows by one owner, disclosing the best of each population."""
    pay = Objective("pay", np.array([[1, 9], [8, 3]]), disclosure=parse_disclosure("top:1"))
    return Assignment(name="tiny", rows=2, columns=2, objectives=(pay,))


def offered_by(
    keys: Keys, sealing: X25519PrivateKey, number: int, *, nonce: str, platform: str
) -> NodeTerms:
    """A node at an address where nobody listens, with the sealing key that it offers."""
    public = sealing.public_key().public_bytes_raw().hex()
    offer = sign_offer(keys.signing, nonce=nonce, platform=platform, sealing_key=public)
    return NodeTerms(
        "127.0.0.1", 9000 + number, keys.signing_public, public, f"{number:064x}", offer
    )


def example_cast(count: int = 3) -> Cast:
    """The parties of the tiny problem, at addresses where nobody listens."""
    nodes = tuple(Keys.new(f"node {i}") for i in range(count))
    sealing = tuple(X25519PrivateKey.generate() for _ in range(count))
    participants = participant_keys(["owner"])
    nonce, platform = secrets.token_hex(16), f"{9:064x}"
    agreement = draft_agreement(
        example_problem(),
        participants=public_keys(participants),
        nodes=[
            offered_by(nodes[i], sealing[i], i, nonce=nonce, platform=platform)
            for i in range(count)
        ],
        platform=platform,
        nonce=nonce,
        search=PinnedSearch("genetic", {"population": 4}, seed=None),
        limits=AgreementLimits(
            evaluations=10,
            population_min=2,
            population_max=100,
            distinct_min=2,
            expires=int(time.time()) + 3600,
        ),
        reveal_best=True,
    )
    return Cast(participants, nodes, sealing, agreement, all_sign(agreement, participants))
