"""Ed25519 signatures with a purpose, and the sealing keys that follow from signing keys.

A signature for one purpose never counts for another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from nacl.bindings import (
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
)
from nacl.public import PrivateKey

from tacit.agreement.terms import Agreement, NodeTerms, ParticipantTerms, agreement_hash
from tacit.errors import AgreementError

Purpose = Literal[
    "agreement",
    "book",
    "box",
    "frame",
    "joining",
    "log",
    "log head",
    "manifest",
    "plan part",
    "sealing key",
    "series",
    "told",
    "vote",
]


def _message(purpose: Purpose, data: bytes) -> bytes:
    # The purpose comes first: no signature for one purpose is ever valid for another.
    return f"tacit {purpose}/1\n".encode() + data


def sign(key: Ed25519PrivateKey, purpose: Purpose, data: bytes) -> bytes:
    return key.sign(_message(purpose, data))


def is_signed(public_key: str, purpose: Purpose, data: bytes, signature: bytes) -> bool:
    """Return whether the holder of this key (in hexadecimal) signed the data for this purpose.

    >>> key = Ed25519PrivateKey.generate()
    >>> public = key.public_key().public_bytes_raw().hex()
    >>> is_signed(public, "box", b"data", sign(key, "box", b"data"))
    True
    >>> is_signed(public, "manifest", b"data", sign(key, "box", b"data"))
    False
    """
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))
        key.verify(signature, _message(purpose, data))
    except (InvalidSignature, ValueError):
        return False
    return True


def sign_agreement(agreement: Agreement, key: Ed25519PrivateKey) -> bytes:
    return sign(key, "agreement", agreement_hash(agreement))


@dataclass(frozen=True)
class Joining:
    """What a participant joins: with which code, as whom, and which platform, by its address."""

    code: str
    account: str
    platform: str

    @property
    def signed_bytes(self) -> bytes:
        # Hashes, so that no end of one part can count as the beginning of the next.
        parts = (self.code, self.account, self.platform)
        return b"".join(hashlib.sha256(part.encode()).digest() for part in parts)


def sign_joining(joining: Joining, key: Ed25519PrivateKey) -> bytes:
    """Prove that the key one joins with is one's own.

    It counts for this invitation, this account and this platform alone, so that nobody in the
    middle can hand it in elsewhere.
    """
    return sign(key, "joining", joining.signed_bytes)


def is_joining_signed(public_key: str, joining: Joining, signature: bytes) -> bool:
    """Return whether the holder of a key joins with this invitation, as this account, here."""
    return is_signed(public_key, "joining", joining.signed_bytes, signature)


def check_signatures(agreement: Agreement, signatures: Mapping[str, bytes]) -> None:
    """Refuse an agreement that is not signed by every one of its participants."""
    check_all_signed(agreement.participants, agreement_hash(agreement), signatures)


def check_all_signed(
    participants: Sequence[ParticipantTerms],
    digest: bytes,
    signatures: Mapping[str, bytes],
    /,
    *,
    purpose: Literal["agreement", "series"] = "agreement",
) -> None:
    """Refuse the agreement, or series, of this hash unless all these participants signed it."""
    for participant in participants:
        signature = signatures.get(participant.name, b"")
        # Every one, also those without rows: whoever is named has agreed to be.
        if not is_signed(participant.signing_key, purpose, digest, signature):
            raise AgreementError(
                f"{participant.name!r} has not signed this {purpose}; every participant must"
            )


def sealing_public(signing_key: str, /) -> str:
    """Return the X25519 form of an Ed25519 signing key, to seal to; both in hexadecimal.

    Both curves are one in two forms, and [thormarker2021] argues that one key may serve for both.
    So nobody has a second key to hand over, to pin or to lose, and whoever puts another sealing key
    into an agreement contradicts the signing key beside it.

    >>> key = Ed25519PrivateKey.generate()
    >>> public = sealing_public(key.public_key().public_bytes_raw().hex())
    >>> bytes(sealing_private(key).public_key).hex() == public
    True
    """
    try:
        return crypto_sign_ed25519_pk_to_curve25519(bytes.fromhex(signing_key)).hex()
    except (ValueError, RuntimeError):
        raise AgreementError(
            f"nothing can be sealed to {signing_key[:70]!r}, which is not an Ed25519 key; let its "
            "owner make keys with tacit participant keys new"
        ) from None


def sealing_private(key: Ed25519PrivateKey, /) -> PrivateKey:
    """Return the X25519 form of the secret key, which opens what was sealed to the public one."""
    whole = key.private_bytes_raw() + key.public_key().public_bytes_raw()
    return PrivateKey(crypto_sign_ed25519_sk_to_curve25519(whole))


def _offer(nonce: str, platform: str, sealing_key: str) -> bytes:
    return f"{nonce}\n{platform}\n{sealing_key}".encode()


def sign_offer(key: Ed25519PrivateKey, /, *, nonce: str, platform: str, sealing_key: str) -> str:
    """Sign the offer of a sealing key for the agreement with this nonce.

    `platform` is the fingerprint of the platform's certificate that the agreement names.
    """
    return sign(key, "sealing key", _offer(nonce, platform, sealing_key)).hex()


def is_offered(node: NodeTerms, /, *, nonce: str, platform: str) -> bool:
    """Return whether the node itself offered the sealing key that these terms give it."""
    try:
        signature = bytes.fromhex(node.sealing_signature)
    except ValueError:
        return False
    offer = _offer(nonce, platform, node.sealing_key)
    return is_signed(node.signing_key, "sealing key", offer, signature)


def check_offers(agreement: Agreement, /) -> None:
    """Refuse an agreement with a sealing key that its node did not offer for it."""
    for number, node in enumerate(agreement.nodes):
        if not is_offered(node, nonce=agreement.nonce, platform=agreement.platform):
            raise AgreementError(
                f"the sealing key of node {number} is not signed by the node for this agreement; "
                "ask the node for a key and draft again"
            )
