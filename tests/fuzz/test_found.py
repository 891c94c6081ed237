"""One regression test for each fault that fuzzing has found."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from nacl.public import PublicKey, SealedBox

from tacit.agreement.draft import check_agreement
from tacit.agreement.sealing import Manifest, open_box, read_manifest, seal_rows
from tacit.agreement.signatures import sign
from tacit.agreement.terms import agreement_hash, canonical, read_agreement
from tacit.errors import AgreementError, FileError, LogError, SealError
from tacit.problems import load_problem
from tacit.records.log import verify_log
from tests.on_nodes.fixtures import example_cast

NOT_TEXT = b"\xff"


def test_an_agreement_that_is_no_text_is_refused() -> None:
    data = canonical(example_cast().agreement).replace(b"tiny", NOT_TEXT)
    with pytest.raises(AgreementError, match="not a valid agreement"):
        read_agreement(data)


@pytest.mark.parametrize("nonce", ["g" * 32, "é" * 32, "0" * 33])
def test_a_nonce_that_is_no_number_is_refused(nonce: str) -> None:
    with pytest.raises(AgreementError, match="nonce"):
        check_agreement(replace(example_cast().agreement, nonce=nonce))


def test_a_manifest_that_is_no_text_is_refused() -> None:
    cast = example_cast()
    key = cast.participants["owner"]
    sealed = seal_rows(cast.agreement, "owner", 0, np.array([[1, 9], [8, 3]]), key=key)
    data = sealed.manifest.replace(b"owner", NOT_TEXT)
    with pytest.raises(SealError, match="not a manifest"):
        read_manifest(cast.agreement, data, sign(key, "manifest", data))


def test_a_box_that_holds_no_text_is_refused() -> None:
    cast = example_cast()
    key, agreement = cast.participants["owner"], cast.agreement
    body = msgspec.msgpack.encode({"participant": "owner"}).replace(b"owner", b"\xffwner")
    contents = msgspec.msgpack.encode({"body": body, "signature": sign(key, "box", body)})
    box = SealedBox(PublicKey(bytes.fromhex(agreement.nodes[0].sealing_key))).encrypt(contents)
    named = hashlib.sha256(box).hexdigest()
    manifest = Manifest(agreement_hash(agreement).hex(), "owner", 0, [named, "", ""], [""] * 3, 1)
    with pytest.raises(SealError, match="something else than shares"):
        open_box(agreement, manifest, box, node=0, key=cast.sealing[0])


def test_a_log_nested_too_deeply_is_refused() -> None:
    line = b'{"at":' + b"[" * 10_000 + b"]" * 10_000 + b',"previous":""}\n'
    with pytest.raises(LogError, match="line 1 is not an event"):
        verify_log(line)


@pytest.mark.parametrize("fields", [{"rows": 5}, {"columns": 4}])
def test_places_are_counted_before_all_ways_are_measured(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    places = [[i, i] for i in range(6)]
    problem = {"format": "tacit-problem/1", "kind": "tour", "coordinates": places}
    path = tmp_path / "tour.json"
    path.write_text(json.dumps(problem | {"metric": "EUC_2D"} | fields))
    with pytest.raises(FileError, match="coordinates of 6 places"):
        load_problem(path)
