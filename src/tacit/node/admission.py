"""Who a node knows: itself, its peers and its platforms, by their certificates.

Which agreements a node takes: with whom it knows, and what its operator allows.

How a node takes an agreement: sizes first, then signatures, and only then what it says.

Nothing is answered, and nothing of it is taken apart, before every participant's signature is
checked; that holds for an agreement that is here already too. What takes time runs in a thread, one
agreement of a platform at a time, so that nobody else waits for it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

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
from tacit.mpc.transport import fingerprint, split_certificates
from tacit.node.agreement_state import AgreementState
from tacit.node.policy import check_still_valid, refuse
from tacit.node.threads import Turns, in_thread
from tacit.records.messages import Agree, AgreementTaken, Allowed


class Parties:
    """Certificates are looked up in their files, which may change while the node runs."""

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
        found = {name: last_expires(pem) for name, pem in self.pinned.items()}
        return {self._me: expires(self._own.pem), **found}

    def knows(self, node: int, certificate: str, /) -> bool:
        """Whether this is the fingerprint of a certificate of that node, ours included."""
        name = party_name(node)
        if name == self._me:
            ours = split_certificates(self._own.pem)
            return certificate in [fingerprint(each) for each in ours]
        return certificate in self.pinned.fingerprints(name)

    def platform_certificates(self, name: str, /) -> list[str]:
        """The fingerprints that a platform goes by; agreements name one of them."""
        return self.pinned.fingerprints(name)

    def are_one_platform(self, one: str, other: str, /) -> bool:
        """Whether two fingerprints are of one platform, which has two while it rotates them."""
        return one == other or any(
            {one, other} <= set(self.pinned.fingerprints(name)) for name in self.platforms
        )


def check_parties(agreement: Agreement, platform: str, parties: Parties, /) -> None:
    """Refuse an agreement with other nodes than we know, or of another platform."""
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
    """What the operator allows, as the node tells it to platforms."""
    return Allowed(
        any_search=config.any_search,
        chosen_populations=config.chosen_populations,
        most_working_megabytes=config.most_working_megabytes,
    )


def check_allowed(agreement: Agreement, config: NodeConfig, /) -> None:
    """Refuse what gives away more than was measured, or needs too much, by the operator's word."""
    why = objection(agreement, allowed_by(config))
    if why is not None:
        raise refuse(why)


Weights = dict[int, NDArray[np.int64]]
REST = 3.0
"""Agreements of a platform take a quarter of a node's time at most."""


class SeriesOfNode(Protocol):
    """What it needs of the series that the node knows."""

    def examined(
        self, agreement: Agreement, carried: SignedSeries | None, /, *, now: float
    ) -> SignedSeries | None:
        """The series that a run names, signed by all, if the run is within it; none if none."""
        ...


class AgreeingNode(Protocol):
    """What taking an agreement needs of the node."""

    agreement_states: dict[bytes, AgreementState]
    turns: Turns

    @property
    def series(self) -> SeriesOfNode:
        """The series that it knows."""
        ...

    def are_one_platform(self, one: str, other: str, /) -> bool:
        """Whether two fingerprints are of one platform, which has two while it rotates them."""
        ...

    def check_count(self, size: int, platform: str, /) -> None:
        """Refuse one more agreement than the platform may have, by its length alone."""
        ...

    async def take_agreement(
        self,
        agreement: Agreement,
        signatures: dict[str, bytes],
        platform: str,
        public: Weights | None = None,
        series: SignedSeries | None = None,
        /,
    ) -> AgreementState:
        """Keep an agreement (checked, signed by all) if its nodes and platform are who we know."""
        ...


class _Signatories(msgspec.Struct, frozen=True):
    """Of an agreement, who must have signed it, and whose it is; the rest is passed over."""

    participants: list[ParticipantTerms]
    platform: str


_READ_SIGNATORIES = msgspec.json.Decoder(_Signatories)


async def agree(node: AgreeingNode, request: Agree, platform: str, /) -> AgreementTaken:
    """Take an agreement that everybody signed, or say how far it is if it is here."""
    check_agreement_bytes(len(request.agreement))
    async with node.turns.of(platform, rest=REST):
        is_sender = partial(node.are_one_platform, platform)
        await in_thread(_check_signed, request.agreement, request.signatures, is_sender)
        agreement_state = node.agreement_states.get(hashlib.sha256(request.agreement).digest())
        if agreement_state is None:
            node.check_count(len(request.agreement), platform)
            agreement, public = await in_thread(_read, request)
            series = await in_thread(_series, node.series, agreement, request)
            agreement_state = await node.take_agreement(
                agreement, request.signatures, platform, public, series
            )
    return AgreementTaken(
        id=request.id,
        frozen=agreement_state.inputs.ready,
        epoch=agreement_state.epochs.last,
        seed_contributions=agreement_state.inputs.seed_contributions,
        states=agreement_state.sealed_states(),
        clock=time.time(),
        evidence=agreement_state.epochs.evidence,
    )


def _check_signed(
    data: bytes, signatures: dict[str, bytes], is_sender: Callable[[str], bool], /
) -> None:
    """Refuse an agreement that not all signed, or that is with another platform.

    Nothing else of it is read.
    """
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


def _read(request: Agree) -> tuple[Agreement, Weights]:
    agreement = read_agreement(request.agreement)
    check_agreement(agreement)
    check_still_valid(agreement, time.time())
    check_derivable(agreement)
    return agreement, _public_weights(agreement, request)


def _series(kept: SeriesOfNode, agreement: Agreement, request: Agree) -> SignedSeries | None:
    """The series of a run that is within it; what everybody signed counts, not who sends it."""
    carried = SignedSeries(request.series, request.series_signatures) if request.series else None
    return kept.examined(agreement, carried, now=time.time())


def _public_weights(agreement: Agreement, request: Agree) -> Weights:
    """What the search needs to know besides answers; refused unless it is what was agreed."""
    if agreement.search.populations == "chosen":
        return {}
    shape = agreement.problem.rows, agreement.problem.columns
    found = {}
    public = {k for k, terms in enumerate(agreement.objectives) if not terms.confidential}
    for k, data in request.public_weights.items():
        if k not in public:
            raise refuse(f"there is no public objective {k}; send the weights of public ones only")
        if len(data) != 8 * shape[0] * shape[1]:
            raise refuse(f"the public weights of objective {k} do not fit the problem")
        found[k] = np.frombuffer(data, dtype="<i8").astype(np.int64).reshape(shape)
    with_public_weights(agreement, found)
    return found
