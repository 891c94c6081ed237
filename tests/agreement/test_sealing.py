"""Sealed rows: a box opens for its node alone, and counts only as what it was sealed for."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from nacl.public import PrivateKey, PublicKey, SealedBox

from tacit.agreement.sealing import (
    Manifest,
    SealedRows,
    _Body,
    _component_hash,
    _Contents,
    box_hash,
    commitment_to,
    open_box,
    read_manifest,
    seal_rows,
    search_seed,
)
from tacit.agreement.signatures import sign
from tacit.agreement.terms import Agreement, agreement_hash
from tacit.errors import SealError
from tests.on_nodes.fixtures import example_cast

CAST = example_cast(4)
WEIGHTS = np.array([[1, 9], [8, 3]])
SALT = b"s" * 32


def seal(agreement: Agreement = CAST.agreement) -> SealedRows:
    return seal_rows(agreement, "owner", 0, WEIGHTS, key=CAST.participants["owner"])


def test_each_node_opens_its_own_box_and_together_they_have_the_weights() -> None:
    rows, parts = seal(), dict[int, Any]()
    manifest = read_manifest(CAST.agreement, rows.manifest, rows.signature)
    for node, key in enumerate(CAST.sealing):
        parts |= open_box(CAST.agreement, manifest, rows.boxes[node], node=node, key=key).parts
        other = CAST.sealing[node - 1]
        with pytest.raises(SealError, match="does not open"):
            open_box(CAST.agreement, manifest, rows.boxes[node], node=node, key=other)
    assert np.array_equal(sum(parts.values()), WEIGHTS)


def test_hashes_of_components_have_salts_that_others_do_not_know() -> None:
    part = np.zeros(4, dtype="<u8").tobytes()
    assert _component_hash(SALT, part) != _component_hash(bytes(32), part)
    rows = seal()
    salts = set()
    for node, key in enumerate(CAST.sealing):
        opened = SealedBox(PrivateKey(key.private_bytes_raw())).decrypt(rows.boxes[node])
        body = msgspec.msgpack.decode(
            msgspec.msgpack.decode(opened, type=_Contents).body, type=_Body
        )
        assert len(body.salts) == 3
        salts |= set(body.salts)
    assert len(salts) == 4


def made(at: int, /, *, signer: Any = None, **changes: Any) -> tuple[Manifest, bytes]:
    """A box for a node that differs from an honest one in something, and what names it."""
    parts = [bytes(32)] * 3
    honest = _Body(agreement_hash(CAST.agreement), "owner", 0, [0, 1], at, parts, [SALT] * 3)
    body = msgspec.msgpack.encode(replace(honest, **changes))
    contents = _Contents(body, sign(signer or CAST.participants["owner"], "box", body))
    to = PublicKey(bytes.fromhex(CAST.agreement.nodes[at].sealing_key))
    box = SealedBox(to).encrypt(msgspec.msgpack.encode(contents))
    named = [_component_hash(SALT, bytes(32))] * 4
    digest = agreement_hash(CAST.agreement).hex()
    return Manifest(digest, "owner", 0, [box_hash(box)] * 4, named, 1), box


def test_what_a_box_is_bound_to_is_compared() -> None:
    manifest, box = made(1)
    key = CAST.sealing[1]
    open_box(CAST.agreement, manifest, box, node=1, key=key)
    for changes, words in (
        ({"agreement": bytes(32)}, "another agreement"),
        ({"participant": "other"}, "another node, objective or participant"),
        ({"objective": 1}, "another node, objective or participant"),
        ({"node": 2}, "another node, objective or participant"),
        ({"rows": [1, 0]}, "other rows"),
        ({"components": [bytes(32)] * 2}, "does not hold"),
        ({"components": [bytes(31) + b"x"] * 3}, "other shares than its manifest names"),
        ({"salts": [bytes(32)] * 3}, "other shares than its manifest names"),
        ({"signer": CAST.nodes[0].signing}, "not signed by 'owner'"),
    ):
        wrong, box = made(1, **changes)
        with pytest.raises(SealError, match=words):
            open_box(CAST.agreement, wrong, box, node=1, key=key)
    _, other = made(1)
    with pytest.raises(SealError, match="not the one that the manifest"):
        open_box(CAST.agreement, manifest, other, node=1, key=key)


def test_a_manifest_is_signed_by_its_owner_for_this_agreement() -> None:
    rows = seal()
    read_manifest(CAST.agreement, rows.manifest, rows.signature)
    forged = sign(CAST.nodes[0].signing, "manifest", rows.manifest)
    box = sign(CAST.participants["owner"], "box", rows.manifest)
    for signature in (forged, box, b"", bytes(64)):
        with pytest.raises(SealError, match="not signed"):
            read_manifest(CAST.agreement, rows.manifest, signature)
    # Written in one way only: nodes show manifests to each other in messages of a fixed size.
    key = CAST.participants["owner"]
    for data in (
        msgspec.json.format(rows.manifest, indent=1),
        rows.manifest.replace(b'"boxes":["', b'"boxes":["' + b"ab" * 4000, 1),
        rows.manifest.replace(b'"version":1', b'"version":0'),
    ):
        assert data != rows.manifest
        with pytest.raises(SealError, match="manifest"):
            read_manifest(CAST.agreement, data, sign(key, "manifest", data))
    earlier = seal(replace(CAST.agreement, nonce="ab" * 16))
    with pytest.raises(SealError, match="another agreement"):
        read_manifest(CAST.agreement, earlier.manifest, earlier.signature)


def test_the_seed_depends_on_agreement_inputs_and_contributions() -> None:
    agreement, other = CAST.agreement, replace(CAST.agreement, nonce="ab" * 16)
    seeds = {
        search_seed(each, {0: manifests}, {0: contribution})
        for each in (agreement, other)
        for manifests in ("aa", "bb")
        for contribution in ("cc", "dd")
    }
    assert len(seeds) == 8
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_a_commitment_to_a_contribution_is_of_one_node_objective_and_agreement() -> None:
    commitments = {
        commitment_to(contribution, agreement=agreement, objective=objective, node=node)
        for contribution in (bytes(32), SALT)
        for agreement in (bytes(32), SALT)
        for objective in (0, 1)
        for node in (0, 1)
    }
    assert len(commitments) == 16
