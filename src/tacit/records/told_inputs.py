"""Sign what a node tells the others of inputs before these are frozen.

A node tells all others the same. Each passes on to all what it has heard, and the signature keeps
it from making anything up. So a node that tells different things is found out by two statements of
its own, and nothing is frozen, nor dropped, on what only some have heard.
"""

from __future__ import annotations

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import LogError
from tacit.mpc import SIGNATURE_BYTES


class ToldInputs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a node has of an objective's inputs, in one attempt to prepare them."""

    told_by: int
    objective: int
    epoch: int
    attempt: int
    commitment: str
    """The hash that binds the node to its contribution to the seed."""
    manifests: str
    """The hash of the hashes of all owners' manifests."""

    @property
    def author(self) -> int:
        return self.told_by

    @property
    def place(self) -> tuple[object, ...]:
        """A node tells one thing in each."""
        return self.objective, self.epoch, self.attempt

    def encode(self) -> bytes:
        return msgspec.json.encode(self)

    def sign(self, key: Ed25519PrivateKey, agreement: bytes, /) -> bytes:
        """Return the signature alone: the rest follows from what is told."""
        return sign(key, "inputs", agreement + self.encode())

    def is_signed(self, agreement: Agreement, signature: bytes, /) -> bool:
        message = agreement_hash(agreement) + self.encode()
        return is_signed(agreement.nodes[self.told_by].signing_key, "inputs", message, signature)


_READ = msgspec.json.Decoder(ToldInputs)


def is_told(signed: bytes, /) -> bool:
    """Return whether signed bytes are to be read as told inputs."""
    return signed.startswith(b'{"told_by"')


def read_told(agreement: Agreement, signed: bytes, /) -> ToldInputs:
    """Read what a node told; a `LogError` if it did not sign that for this agreement."""
    data, signature = signed[:-SIGNATURE_BYTES], signed[-SIGNATURE_BYTES:]
    try:
        told = _READ.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise LogError("what is shown as told of inputs is none of that; it was made up") from None
    known = 0 <= told.told_by < len(agreement.nodes) and told.encode() == data
    if not known or not told.is_signed(agreement, signature):
        raise LogError(f"node {told.told_by} did not sign what is shown as told by it")
    return told
