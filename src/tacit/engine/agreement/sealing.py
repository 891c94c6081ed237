"""Sealed shares: how a participant's weights reach the nodes through hands it does not trust.

The participant draws the shares itself. Each node's part is signed (a sealed box does not say who
closed it) together with everything it is bound to, and then sealed to the key that the node drew
for this agreement. A signed manifest with the hashes of the three boxes lets the nodes see that
they got parts of one whole.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox
from numpy.typing import NDArray

from tacit.engine.agreement.signatures import is_signed, sign
from tacit.engine.agreement.terms import Agreement, agreement_hash
from tacit.errors import SealError
from tacit.mpc import NODES, ArithmeticShare, deal, to_ring


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the participant signs inside a box."""

    agreement: bytes
    participant: str
    objective: int
    rows: list[int]
    node: int
    salt: bytes
    mine: bytes
    next: bytes


class _Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    body: bytes
    signature: bytes


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which three boxes a participant sealed for an objective; signed as it stands."""

    agreement: str
    participant: str
    objective: int
    boxes: list[str]


@dataclass(frozen=True, slots=True)
class SealedRows:
    """A participant's three boxes for one objective, with their manifest."""

    boxes: tuple[bytes, ...]
    manifest: bytes
    signature: bytes


def seal_rows(
    agreement: Agreement,
    participant: str,
    objective: int,
    weights: NDArray[np.int64],
    *,
    key: Ed25519PrivateKey,
) -> SealedRows:
    """Share and seal a participant's rows (in the agreement's order) to the three nodes."""
    rows = agreement.rows_of(participant, objective)
    if weights.shape != (len(rows), agreement.problem.columns):
        raise SealError(
            f"{participant!r} owns {len(rows)} rows of {agreement.problem.columns} weights and "
            f"gave an array of shape {weights.shape}; give its rows only"
        )
    digest = agreement_hash(agreement)
    boxes = []
    for node, share in zip(NODES, deal(to_ring(weights)), strict=True):
        body = msgspec.msgpack.encode(
            _Body(
                agreement=digest,
                participant=participant,
                objective=objective,
                rows=rows,
                node=node,
                salt=secrets.token_bytes(32),
                mine=share.mine.astype("<u8").tobytes(),
                next=share.next.astype("<u8").tobytes(),
            )
        )
        contents = msgspec.msgpack.encode(_Contents(body, sign(key, "box", body)))
        to = PublicKey(bytes.fromhex(agreement.nodes[node].sealing_key))
        boxes.append(SealedBox(to).encrypt(contents))
    manifest = Manifest(digest.hex(), participant, objective, [box_hash(box) for box in boxes])
    written = msgspec.json.encode(manifest, order="sorted")
    return SealedRows(tuple(boxes), written, sign(key, "manifest", written))


def box_hash(box: bytes) -> str:
    """How a manifest names a box."""
    return hashlib.sha256(box).hexdigest()


def read_manifest(agreement: Agreement, data: bytes, signature: bytes) -> Manifest:
    """Check a manifest's signature and what it is bound to."""
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SealError("this is not a manifest; let the participant seal its rows again") from None
    if manifest.agreement != agreement_hash(agreement).hex():
        raise SealError(f"the manifest of {manifest.participant!r} belongs to another agreement")
    if manifest.objective not in agreement.confidential() or len(manifest.boxes) != 3:
        raise SealError(f"the manifest of {manifest.participant!r} fits no confidential objective")
    if not agreement.rows_of(manifest.participant, manifest.objective):
        raise SealError(
            f"{manifest.participant!r} owns no rows of objective {manifest.objective}; "
            "seal rows that the agreement gives it"
        )
    key = agreement.participant(manifest.participant).signing_key
    if not is_signed(key, "manifest", data, signature):
        raise SealError(f"the manifest is not signed by {manifest.participant!r}")
    return manifest


def open_box(
    agreement: Agreement, manifest: Manifest, box: bytes, *, node: int, key: X25519PrivateKey
) -> ArithmeticShare:
    """A node's shares from its box, after checking everything that they are bound to."""
    who = repr(manifest.participant)
    if box_hash(box) != manifest.boxes[node]:
        raise SealError(f"the box is not the one that the manifest of {who} names for node {node}")
    contents = _contents(box, key, who)
    signer = agreement.participant(manifest.participant).signing_key
    if not is_signed(signer, "box", contents.body, contents.signature):
        raise SealError(f"what is in the box is not signed by {who}")
    body = _body(contents, who)
    if body.agreement != agreement_hash(agreement):
        raise SealError(f"the box of {who} was sealed for another agreement")
    if (body.participant, body.objective, body.node) != (
        manifest.participant,
        manifest.objective,
        node,
    ):
        raise SealError(f"the box of {who} was sealed for another node, objective or participant")
    if body.rows != agreement.rows_of(manifest.participant, manifest.objective):
        raise SealError(f"the box of {who} holds other rows than the agreement gives it")
    shape = (len(body.rows), agreement.problem.columns)
    if not len(body.mine) == len(body.next) == 8 * shape[0] * shape[1]:
        raise SealError(f"the box of {who} does not hold {shape[0]} rows of {shape[1]} weights")
    mine, following = (
        np.frombuffer(part, dtype="<u8").astype(np.uint64).reshape(shape)
        for part in (body.mine, body.next)
    )
    return ArithmeticShare(mine, following)


def _contents(box: bytes, key: X25519PrivateKey, who: str) -> _Contents:
    opener = SealedBox(PrivateKey(key.private_bytes_raw()))
    try:
        return msgspec.msgpack.decode(opener.decrypt(box), type=_Contents)
    except (CryptoError, ValueError, TypeError):
        raise SealError(f"the box of {who} does not open: it is damaged, or not for us") from None
    except msgspec.DecodeError:
        raise SealError(f"the box of {who} holds something else than signed shares") from None


def _body(contents: _Contents, who: str) -> _Body:
    try:
        return msgspec.msgpack.decode(contents.body, type=_Body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SealError(f"the box of {who} holds something else than shares") from None


def manifests_digest(manifests: Iterable[bytes], /) -> str:
    """One hash of an objective's manifests in the agreement's order of owners."""
    whole = hashlib.sha256()
    for manifest in manifests:
        whole.update(hashlib.sha256(manifest).digest())
    return whole.hexdigest()


def search_seed(
    agreement: Agreement, digests: Mapping[int, str], contributions: Mapping[int, str], /
) -> int:
    """The agreed seed, or the one derived from all manifests and contributions.

    The nodes draw a contribution per objective together when they freeze the inputs. Manifests
    alone would not do: whoever seals last, or sees all boxes before it seals, could try until it
    likes the seed.
    """
    if agreement.search.seed is not None:
        return agreement.search.seed
    text = ",".join(f"{k}:{digests[k]}:{contributions[k]}" for k in agreement.confidential())
    digest = hashlib.sha256(b"tacit seed/2\n" + agreement_hash(agreement) + text.encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1
