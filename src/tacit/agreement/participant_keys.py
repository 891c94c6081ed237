"""What is sealed to a participant: the X25519 form of the Ed25519 key that it signs with.

Both curves are one in two forms, so the public key that others have pinned gives the one to seal
to, as libsodium offers it and as age seals to SSH keys; [thormarker2021] argues that one key may
serve for both. Nobody has a second key to hand over, to pin or to lose, and whoever puts another
key into an agreement contradicts the signing key beside it.
"""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl.bindings import (
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
)
from nacl.public import PrivateKey

from tacit.errors import AgreementError


def sealing_public(signing_key: str, /) -> str:
    """The key to seal to, from a public signing key; both in hexadecimal.

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
    """What opens that which was sealed to the public half."""
    whole = key.private_bytes_raw() + key.public_key().public_bytes_raw()
    return PrivateKey(crypto_sign_ed25519_sk_to_curve25519(whole))
