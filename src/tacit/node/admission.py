"""Take agreements: from platforms that the node knows, signed by all, as the operator allows.

An agreement is checked by its size first, then by its signatures, and only then by its content.
Nothing is answered, and nothing else of it parsed, before every participant's signature is checked;
that holds for an agreement that is here already, too. Otherwise a platform alone could have a node
compute, or find out what others have signed. What takes time runs in a thread, one agreement of a
platform at a time, so that nobody else waits for it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from tacit.agreement import SignedSeries
from tacit.agreement.draft import check_agreement
from tacit.agreement.signatures import check_all_signed
from tacit.agreement.sizes import MOST_PARTICIPANTS, check_agreement_bytes
from tacit.agreement.terms import Agreement, ParticipantTerms, read_agreement
from tacit.derived import check_derivable, objection, with_public_weights
from tacit.errors import AgreementError
from tacit.identity.certificates import (
    CertificateFiles,
    PinnedCertificates,
    expires,
    last_expires,
    read_certificate,
)
from tacit.identity.config import NodeConfig
from tacit.mpc import party_name
from tacit.mpc.transport import fingerprint, fingerprints
from tacit.node.policy import check_still_valid, refuse
from tacit.node.threads import in_thread
from tacit.records.messages import Agree, AgreementTaken, Allowed

if TYPE_CHECKING:
    from tacit.node.server import Node


class Parties:
    """The parties that a node knows by their certificates: itself, its peers and its platforms.

    The files of certificates may change while the node runs.
    """

    def __init__(self, config: NodeConfig, /) -> None:
        folder = Path(config.folder)
        self._own = CertificateFiles(folder / config.certificate, folder / config.tls_key)
        self._me = party_name(config.node)
        self.nodes = len(config.peers) + 1
        files = {party_name(peer.node): folder / peer.certificate for peer in config.peers}
        self.platforms: list[str] = []
        """The names that links of platforms go by, each for as long as the node runs."""
        for path in config.platforms:
            name = f"platform {fingerprint(read_certificate(folder / path))[:16]}"
            self.platforms.append(name)
            files[name] = folder / path
        self.pinned = PinnedCertificates(files)
        self.identity = self._own.identity(self.pinned)

    def certificates_expire(self) -> dict[str, float]:
        """When each party needs a new certificate, in seconds since 1970."""
        others = {name: last_expires(pem) for name, pem in self.pinned.items()}
        return {self._me: expires(self._own.pem), **others}

    def knows(self, node: int, certificate: str, /) -> bool:
        """Whether this is the fingerprint of a certificate of that node, or of this one."""
        name = party_name(node)
        if name == self._me:
            return certificate in fingerprints(self._own.pem)
        return certificate in self.pinned.fingerprints(name)

    def platform_certificates(self, name: str, /) -> list[str]:
        return self.pinned.fingerprints(name)

    def are_one_platform(self, one: str, other: str, /) -> bool:
        """Whether two fingerprints are of one platform, which has two while it rotates them."""
        return one == other or any(
            {one, other} <= set(self.pinned.fingerprints(name)) for name in self.platforms
        )


def check_parties(agreement: Agreement, platform: str, parties: Parties, /) -> None:
    if len(agreement.nodes) != parties.nodes:
        raise refuse(
            f"the agreement names {len(agreement.nodes)} nodes and this cluster has "
            f"{parties.nodes}; name all of them"
        )
    for node, terms in enumerate(agreement.nodes):
        if not parties.knows(node, terms.certificate):
            raise refuse(
                f"the agreement gives node {node} another certificate than we know; if it was "
                "rotated, give its new .pem to the platform and to all nodes"
            )
    if not parties.are_one_platform(agreement.platform, platform):
        raise refuse("the agreement is with another platform than the one that sends it")


def allowed_by(config: NodeConfig, /) -> Allowed:
    """What the operator allows, as the node reports it to platforms."""
    return Allowed(
        any_search=config.any_search,
        chosen_populations=config.chosen_populations,
        most_working_megabytes=config.most_working_megabytes,
    )


def check_allowed(agreement: Agreement, config: NodeConfig, /) -> None:
    """Refuse what discloses more than was measured, or needs too much, unless allowed."""
    why = objection(agreement, allowed_by(config))
    if why is not None:
        raise refuse(why)


Weights = dict[int, NDArray[np.int64]]
REST = 3.0
"""Agreements of a platform take a quarter of a node's time at most."""


class _Signatories(msgspec.Struct, frozen=True):
    """The participants, platform and nonce of an agreement; its other fields are not parsed."""

    participants: list[ParticipantTerms]
    platform: str
    nonce: str


_READ_SIGNATORIES = msgspec.json.Decoder(_Signatories)


async def agree(node: Node, request: Agree, platform: str, /) -> AgreementTaken:
    """Take an agreement that everybody signed, and report how far it has come."""
    check_agreement_bytes(len(request.agreement))
    async with node.turns.of(platform, rest=REST):
        is_sender = partial(node.parties.are_one_platform, platform)
        nonce = await in_thread(_check_signed, request.agreement, request.signatures, is_sender)
        # By its hash, after the signatures: one that is here already is not parsed again.
        name = hashlib.sha256(request.agreement).digest()
        state = node.agreement_states.get(name) or await node.ended_state(name, platform)
        if state is None:
            node.quota.check_agreement(len(request.agreement), platform, nonce)
            agreement, public = await in_thread(_read, request)
            carried = (
                SignedSeries(request.series, request.series_signatures) if request.series else None
            )
            series = await in_thread(
                partial(node.series.examined, agreement, carried, now=time.time())
            )
            state = await node.take_agreement(
                agreement, request.signatures, platform, public, series
            )
    # Whoever only reads, as for a receipt, sends the agreement without a fence.
    if request.fence and not state.ended:
        state.pass_fence(request.fence)
    return AgreementTaken(
        id=request.id,
        frozen=state.inputs.ready,
        epoch=state.epochs.last,
        seed_contributions=state.inputs.seed_contributions,
        states=state.sealed_states(),
        clock=time.time(),
        evidence=state.epochs.evidence,
    )


def _check_signed(
    data: bytes, signatures: dict[str, bytes], is_sender: Callable[[str], bool], /
) -> str:
    """Check that all have signed, and return the nonce: its draft has room that was kept."""
    try:
        parties = _READ_SIGNATORIES.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AgreementError(f"this is not a valid agreement ({error}); draft it again") from None
    if not is_sender(parties.platform):
        raise refuse("the agreement is with another platform than the one that sends it")
    if len(parties.participants) > MOST_PARTICIPANTS:
        raise AgreementError(
            f"the agreement names {len(parties.participants)} participants; nodes take "
            f"{MOST_PARTICIPANTS}"
        )
    check_all_signed(parties.participants, hashlib.sha256(data).digest(), signatures)
    return parties.nonce


def _read(request: Agree) -> tuple[Agreement, Weights]:
    agreement = read_agreement(request.agreement)
    check_agreement(agreement)
    check_still_valid(agreement, time.time())
    check_derivable(agreement)
    return agreement, _public_weights(agreement, request)


def _public_weights(agreement: Agreement, request: Agree) -> Weights:
    """The weights of public objectives, from which the search derives; refused unless agreed."""
    if agreement.search.populations == "chosen":
        return {}
    shape = agreement.problem.rows, agreement.problem.columns
    weights: Weights = {}
    public = {k for k, terms in enumerate(agreement.objectives) if not terms.confidential}
    for k, data in request.public_weights.items():
        if k not in public:
            raise refuse(f"there is no public objective {k}; send the weights of public ones only")
        if len(data) != 8 * shape[0] * shape[1]:
            raise refuse(f"the public weights of objective {k} do not fit the problem")
        weights[k] = np.frombuffer(data, dtype="<i8").astype(np.int64).reshape(shape)
    with_public_weights(agreement, weights)
    return weights
