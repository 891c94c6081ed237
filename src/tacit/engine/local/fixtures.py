"""Everybody's keys in one place: for examples, tests, and clusters on one machine.

In earnest each party has its own keys and nobody has those of another.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.engine.agreement.signatures import sign_agreement
from tacit.engine.agreement.terms import Agreement, AgreementLimits, NodeTerms, PinnedSearch
from tacit.engine.identity.keys import Keys

if TYPE_CHECKING:
    from tacit.problems import Problem


@dataclass(frozen=True)
class Cast:
    """The parties of an agreement, with their secrets, and the agreement that they all signed."""

    participants: dict[str, Ed25519PrivateKey]
    nodes: tuple[Keys, ...]
    agreement: Agreement
    signatures: dict[str, bytes]


def participant_keys(names: Iterable[str], /) -> dict[str, Ed25519PrivateKey]:
    """A fresh signing key for each name."""
    return {name: Ed25519PrivateKey.generate() for name in names}


def public_keys(keys: dict[str, Ed25519PrivateKey], /) -> dict[str, str]:
    """The public halves, as an agreement names them."""
    return {name: key.public_key().public_bytes_raw().hex() for name, key in keys.items()}


def all_sign(
    agreement: Agreement, participants: dict[str, Ed25519PrivateKey], /
) -> dict[str, bytes]:
    """The signatures of all participants.

    >>> cast = example_cast()
    >>> list(all_sign(cast.agreement, cast.participants))
    ['owner']
    """
    return {name: sign_agreement(agreement, key) for name, key in participants.items()}


def example_problem() -> Problem:
    """A tiny assignment of two rows by one owner, disclosing the best of each population.

    >>> example_problem().rows
    2
    """
    import numpy as np

    from tacit.disclosure import parse_disclosure
    from tacit.problems import Assignment, Objective

    pay = Objective("pay", np.array([[1, 9], [8, 3]]), disclosure=parse_disclosure("top:1"))
    return Assignment(name="tiny", rows=2, columns=2, objectives=(pay,))


def example_cast() -> Cast:
    """The parties of the tiny problem, at addresses where nobody listens.

    >>> len(example_cast().nodes)
    3
    """
    from tacit.engine.agreement.draft import draft_agreement

    nodes = tuple(Keys.new(f"node {i}") for i in range(3))
    participants = participant_keys(["owner"])
    agreement = draft_agreement(
        example_problem(),
        participants=public_keys(participants),
        nodes=[
            NodeTerms("127.0.0.1", 9000 + i, keys.signing_public, keys.sealing_public, f"{i:064x}")
            for i, keys in enumerate(nodes)
        ],
        platform=f"{9:064x}",
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
    return Cast(participants, nodes, agreement, all_sign(agreement, participants))
