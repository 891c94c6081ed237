"""A bundle that anybody may have made: what is missing in it is missed."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tacit.agreement import canonical, sign_agreement
from tacit.errors import LogError
from tacit.records.events import AgreementAccepted
from tacit.records.log import sign_head
from tacit.records.node_log import NodeLog
from tacit.verify import Bundle, ClaimedResult, LogSignature, bundle, check_bundle
from tacit.verify.bundle import bundle_nonce, read_bundle, write_bundle
from tests.on_nodes.owners_cast import owners_cast

CAST = owners_cast(plan_for="everybody")


def made(folder: Path) -> Bundle:
    """The bundle of a run that was cancelled before anything was sealed."""
    written, logs, signatures = canonical(CAST.agreement), {}, []
    nonce, seconds = bundle_nonce(written), int(time.time())
    for node, keys in enumerate(CAST.nodes):
        log = NodeLog(folder / f"log-{node}")
        log.append(AgreementAccepted(CAST.agreement.digest.hex()))
        log.sync()
        logs[node] = (folder / f"log-{node}").read_bytes()
        signed = sign_head(keys.signing, log.head, nonce=nonce, seconds=seconds)
        signatures.append(LogSignature(node, seconds, signed.hex()))
    return Bundle(
        run="r-abcdefghij",
        state="cancelled",
        agreement=written,
        signatures={
            name: sign_agreement(CAST.agreement, key).hex()
            for name, key in CAST.participants.items()
        },
        logs=logs,
        log_signatures=signatures,
        manifests=[],
        ledger=b"",
        result=msgspec.json.encode(ClaimedResult("cancelled")),
    )


def findings(shown: Bundle) -> dict[str, bool]:
    return {each.about: each.ok for each in check_bundle(shown).findings}


def test_logs_and_signatures_are_all_there(tmp_path: Path) -> None:
    whole = made(tmp_path)
    assert read_bundle(write_bundle(whole)) == whole
    found = findings(whole)
    assert found["signatures"]
    assert found["log of node 2"]
    assert "inputs" in found
    # With fewer logs nothing can be compared, and nothing is said to be in order.
    found = findings(replace(whole, log_signatures=whole.log_signatures[:2]))
    assert not found["log of node 2"]
    assert not {"inputs", "answers", "search"} & set(found)
    name = next(iter(whole.signatures))
    for signatures in ({}, {**whole.signatures, name: "ab" * 64}):
        assert not findings(replace(whole, signatures=signatures))["signatures"]


def test_all_files_together_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = made(tmp_path)
    packed = write_bundle(whole)
    sizes = [*map(len, whole.logs.values()), len(whole.agreement)]
    monkeypatch.setattr(bundle, "MOST_BYTES", sum(sizes))
    with pytest.raises(LogError, match="too large"):
        read_bundle(packed)
