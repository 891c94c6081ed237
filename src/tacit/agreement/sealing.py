"""Sealed rows: a participant's weights on their way to the nodes, through hands it does not trust.

The participant draws the shares itself. Each node's part is signed (a sealed box does not say who
closed it) together with everything it is bound to, and then sealed to the key that the node drew
for this agreement. A signed manifest with the hashes of all boxes, and a salted hash of every
component of the shares, lets each node see by itself that it got parts of one whole.

A participant whose rows were refused seals again, under the next version, and its signature voids
what it sealed before: whoever shows an earlier manifest proves nothing by it. Two manifests of one
version are a participant's own doing.

The search's seed follows from all manifests and from contributions of the nodes.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox
from numpy.typing import NDArray

from tacit.agreement.signatures import is_signed, sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import SealError
from tacit.mpc import ArithmeticShare, deal, held_by, to_ring


class _Body(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the participant signs inside a box."""

    agreement: bytes
    participant: str
    objective: int
    rows: list[int]
    node: int
    components: list[bytes]
    """Those that the node is to have, in the order of `held_by`."""
    salts: list[bytes]
    """Of the hashes in the manifest, one for each."""


_READ_BODY = msgspec.msgpack.Decoder(_Body)


class _Contents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    body: bytes
    signature: bytes


_READ_CONTENTS = msgspec.msgpack.Decoder(_Contents)


Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Version = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which boxes a participant sealed for an objective; signed as it stands."""

    agreement: str
    participant: str
    objective: int
    boxes: list[Digest]
    components: list[Digest]
    """A salted hash of each component."""
    version: Version
    """How often the participant has sealed these rows, with this time; earlier ones are void."""


_READ_MANIFEST = msgspec.json.Decoder(Manifest)


@dataclass(frozen=True, slots=True)
class SealedRows:
    """A participant's boxes for one objective, one for each node, with their manifest."""

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
    version: int = 1,
) -> SealedRows:
    """Share and seal a participant's rows (in the agreement's order) to the nodes.

    `version` is one more than that of the rows that these replace.
    """
    rows = agreement.rows_of(participant, objective)
    if weights.shape != (len(rows), agreement.problem.columns):
        raise SealError(
            f"{participant!r} owns {len(rows)} rows of {agreement.problem.columns} weights and "
            f"gave an array of shape {weights.shape}; give its rows only"
        )
    digest, nodes = agreement_hash(agreement), len(agreement.nodes)
    # A salt per component goes to all its holders: each sees in the manifest that the others got
    # the same numbers. Without it, small weights could be guessed from the hash.
    salts = [secrets.token_bytes(32) for _ in range(nodes)]
    hashes: dict[int, str] = {}
    boxes = []
    for node, share in enumerate(deal(to_ring(weights), nodes=nodes)):
        held = held_by(node, nodes)
        parts = {c: share.parts[c].astype("<u8").tobytes() for c in held}
        hashes |= {c: _component_hash(salts[c], parts[c]) for c in held if c not in hashes}
        body = msgspec.msgpack.encode(
            _Body(
                agreement=digest,
                participant=participant,
                objective=objective,
                rows=rows,
                node=node,
                components=[parts[c] for c in held],
                salts=[salts[c] for c in held],
            )
        )
        # Signed before it is sealed, since a sealed box does not say who closed it.
        contents = msgspec.msgpack.encode(_Contents(body, sign(key, "box", body)))
        to = PublicKey(bytes.fromhex(agreement.nodes[node].sealing_key))
        boxes.append(SealedBox(to).encrypt(contents))
    manifest = Manifest(
        digest.hex(),
        participant,
        objective,
        [box_hash(box) for box in boxes],
        [hashes[c] for c in range(nodes)],
        version,
    )
    written = _written(manifest)
    return SealedRows(tuple(boxes), written, sign(key, "manifest", written))


def _written(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest, order="sorted")


def _component_hash(salt: bytes, component: bytes) -> str:
    # The salt keeps small weights from being guessed.
    return hashlib.sha256(b"tacit component/1\n" + salt + component).hexdigest()


def box_hash(box: bytes) -> str:
    return hashlib.sha256(box).hexdigest()


def read_manifest(agreement: Agreement, data: bytes, signature: bytes) -> Manifest:
    """Check a manifest's signature and what it is bound to."""
    try:
        manifest = _READ_MANIFEST.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SealError("this is not a manifest; let the participant seal its rows again") from None
    # One way to write it: nodes show it to each other in a message of a fixed size.
    if _written(manifest) != data:
        raise SealError("this manifest is not written as manifests are; seal the rows again")
    if manifest.agreement != agreement_hash(agreement).hex():
        raise SealError(f"the manifest of {manifest.participant!r} belongs to another agreement")
    nodes = len(agreement.nodes)
    fits = len(manifest.boxes) == len(manifest.components) == nodes
    if manifest.objective not in agreement.confidential() or not fits:
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
    """Return a node's shares from its box, after checking everything that they are bound to."""
    who = repr(manifest.participant)
    # The nodes compare manifests before they freeze the inputs. So a box that the manifest names is
    # one that all other nodes know of.
    if box_hash(box) != manifest.boxes[node]:
        raise SealError(f"the box is not the one that the manifest of {who} names for node {node}")
    contents = _contents(box, key, who)
    signer = agreement.participant(manifest.participant).signing_key
    if not is_signed(signer, "box", contents.body, contents.signature):
        raise SealError(f"what is in the box is not signed by {who}")
    body = _body(contents, who)
    # Everything that the body is bound to: a box that was recorded elsewhere must not count here.
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
    held = held_by(node, len(agreement.nodes))
    sizes = [len(part) for part in body.components]
    if sizes != [8 * shape[0] * shape[1]] * len(held) or len(body.salts) != len(held):
        raise SealError(f"the box of {who} does not hold {shape[0]} rows of {shape[1]} weights")
    parts = {}
    for c, salt, part in zip(held, body.salts, body.components, strict=True):
        if _component_hash(salt, part) != manifest.components[c]:
            raise SealError(
                f"the box of {who} holds other shares than its manifest names; let it seal again"
            )
        parts[c] = np.frombuffer(part, dtype="<u8").astype(np.uint64).reshape(shape)
    return ArithmeticShare(parts)


def _contents(box: bytes, key: X25519PrivateKey, who: str) -> _Contents:
    opener = SealedBox(PrivateKey(key.private_bytes_raw()))
    try:
        return _READ_CONTENTS.decode(opener.decrypt(box))
    except (CryptoError, ValueError, TypeError):
        raise SealError(f"the box of {who} does not open: it is damaged, or not for us") from None
    except msgspec.DecodeError:
        raise SealError(f"the box of {who} holds something else than signed shares") from None


def _body(contents: _Contents, who: str) -> _Body:
    try:
        return _READ_BODY.decode(contents.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise SealError(f"the box of {who} holds something else than shares") from None


def manifests_digest(manifests: Iterable[bytes], /) -> str:
    """Hash an objective's manifests in the agreement's order of owners."""
    whole = hashlib.sha256()
    for manifest in manifests:
        whole.update(hashlib.sha256(manifest).digest())
    return whole.hexdigest()


def search_seed(
    agreement: Agreement, digests: Mapping[int, str], contributions: Mapping[int, str], /
) -> int:
    """Return the agreed seed, or derive it from all manifests and contributions.

    The nodes draw a contribution per objective together when they freeze the inputs. Manifests
    alone would not do: whoever seals last, or sees all boxes before it seals, could try until it
    likes the seed.
    """
    if agreement.search.seed is not None:
        return agreement.search.seed
    text = ",".join(f"{k}:{digests[k]}:{contributions[k]}" for k in agreement.confidential())
    digest = hashlib.sha256(b"tacit seed/1\n" + agreement_hash(agreement) + text.encode()).digest()
    # 63 bits, so that it is positive wherever integers are signed.
    return int.from_bytes(digest[:8], "little") >> 1


CONTRIBUTION_BYTES = 32


def commitment_to(contribution: bytes, /, *, agreement: bytes, objective: int, node: int) -> bytes:
    """Return the hash that binds a node to its contribution; `agreement` is a hash too."""
    # A node draws its contribution once per objective and never again. Peers see this hash before
    # the inputs are frozen and the contribution after, so nobody chooses one that it likes. It has
    # 256 random bits and cannot be found by trying.
    about = f"tacit contribution/1\n{objective}\n{node}\n".encode()
    return hashlib.sha256(about + agreement + contribution).digest()


def joint_contribution(contributions: Sequence[bytes], /) -> str:
    """Hash all contributions, in the order of the nodes, to what they drew together."""
    return hashlib.sha256(b"tacit contributions/1\n" + b"".join(contributions)).hexdigest()
