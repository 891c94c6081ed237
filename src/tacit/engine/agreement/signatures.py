"""Ed25519 signatures with a purpose: what is signed as one thing never counts as another."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tacit.engine.agreement.terms import Agreement, ParticipantTerms, agreement_hash
from tacit.errors import AgreementError

Purpose = Literal[
    "agreement",
    "book",
    "box",
    "frame",
    "join",
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


def sign_joining(code: str, key: Ed25519PrivateKey) -> bytes:
    """A participant's proof that the key it joins with is its own, for this invitation alone."""
    return sign(key, "join", hashlib.sha256(code.encode()).digest())


def is_joining_signed(public_key: str, code: str, signature: bytes) -> bool:
    """Whether the holder of a key joins with this invitation."""
    return is_signed(public_key, "join", hashlib.sha256(code.encode()).digest(), signature)


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
