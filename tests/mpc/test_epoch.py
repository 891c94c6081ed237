"""The key of a pair comes from the secret that both share, and is bound to what both saw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from tacit.mpc.epoch import _pair_key

OURS, THEIRS, OTHERS = (X25519PrivateKey.from_private_bytes(bytes([k]) * 32) for k in (1, 2, 3))


@dataclass
class Agreed:
    """A key pair that shows one public key and agrees on another pair's secret."""

    shown: X25519PrivateKey
    used: X25519PrivateKey

    def public_key(self) -> X25519PublicKey:
        return self.shown.public_key()

    def exchange(self, peer: X25519PublicKey) -> bytes:  # noqa: ARG002
        return self.used.exchange(THEIRS.public_key())


def raw(secret: X25519PrivateKey) -> bytes:
    return secret.public_key().public_bytes_raw()


def key(secret: Any, theirs: bytes) -> bytes:
    return _pair_key(0, 1, secret, theirs, name="node 1")


def test_both_sides_derive_the_same_key() -> None:
    theirs = _pair_key(1, 0, THEIRS, raw(OURS), name="node 0")
    assert key(OURS, raw(THEIRS)) == theirs


def test_the_key_needs_the_secret() -> None:
    """The public keys that went over the link do not suffice."""
    assert key(OURS, raw(THEIRS)) != key(Agreed(OURS, OTHERS), raw(THEIRS))


def test_the_key_is_bound_to_both_public_keys_and_to_the_pair() -> None:
    keys = {
        key(OURS, raw(THEIRS)),
        key(Agreed(OTHERS, OURS), raw(THEIRS)),
        key(Agreed(OURS, OURS), raw(OTHERS)),
        _pair_key(0, 2, OURS, raw(THEIRS), name="node 2"),
    }
    assert len(keys) == 4
