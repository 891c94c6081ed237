"""Ed25519 signatures with a purpose: what is signed as one thing never counts as another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.agreement.terms import Agreement, ParticipantTerms, agreement_hash
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
]


def _message(purpose: Purpose, data: bytes) -> bytes:
    return f"tacit {purpose}/1\n".encode() + data


def sign(key: Ed25519PrivateKey, purpose: Purpose, data: bytes) -> bytes:
    """Sign data for a purpose."""
    return key.sign(_message(purpose, data))


def is_signed(public_key: str, purpose: Purpose, data: bytes, signature: bytes) -> bool:
    """Whether the holder of this key (in hexadecimal) signed the data for this purpose.

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
    """A participant's signature under an agreement, after it has read it."""
    return sign(key, "agreement", agreement_hash(agreement))


@dataclass(frozen=True)
class Joining:
    """What a participant joins: with which code, as whom, and which platform, by its address."""

    code: str
    account: str
    platform: str

    @property
    def signed_bytes(self) -> bytes:
        """The SHA-256 of each, so that no end of one can count as the beginning of the next."""
        parts = (self.code, self.account, self.platform)
        return b"".join(hashlib.sha256(part.encode()).digest() for part in parts)


def sign_joining(joining: Joining, key: Ed25519PrivateKey) -> bytes:
    """A participant's proof that the key it joins with is its own.

    It counts for this invitation, this account and this platform alone, so that nobody in the
    middle can hand it in elsewhere.
    """
    return sign(key, "joining", joining.signed_bytes)


def is_joining_signed(public_key: str, joining: Joining, signature: bytes) -> bool:
    """Whether the holder of a key joins with this invitation, as this account, here."""
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
        if not is_signed(participant.signing_key, purpose, digest, signature):
            raise AgreementError(
                f"{participant.name!r} has not signed this {purpose}; every participant must"
            )
