"""A public objective beside a confidential one, through the whole platform on real nodes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.live_platform import OPERATOR, LivePlatform
from msgspec.structs import replace

from tacit.participant import check_logs, join, new_key_file, review, sign, submit
from tacit.participant.public_weights import public_refusals
from tacit.participant.review_words import review_lines
from tacit.service.workflow.recording import record_run
from tacit.verify import check_bundle, read_bundle

pytestmark = pytest.mark.processes

ROWS = 8
WAYS = np.random.default_rng(7).integers(0, 100, (ROWS, ROWS))


def drafted(live: LivePlatform) -> str:
    pay = {"name": "pay", "sense": "maximize", "weight_bound": 1000, "disclosure": "none",
           "best": "value"}  # fmt: skip
    way = {"name": "way", "sense": "minimize", "weight_bound": 100, "confidential": False,
           "disclosure": "none", "best": "value", "weights": WAYS.tolist()}  # fmt: skip
    terms = {
        "name": "two",
        "problem": {"name": "two", "kind": "assignment", "rows": ROWS, "columns": ROWS},
        "objectives": [pay, way],
        "participants": {"ce\u0301leste": list(range(ROWS))},
        "limits": {"evaluations": 5},
        "deadline_seconds": 20.0,
    }
    run_id: str = live.call("POST", "/runs", OPERATOR, json=terms)["id"]
    return run_id


def test_nodes_and_participants_follow_a_search_with_a_public_objective(
    live: LivePlatform,
) -> None:
    run_id = drafted(live)
    ((name, code),) = live.call("POST", f"/runs/{run_id}/invite", OPERATOR)["invitations"].items()
    folder: Path = live.folder / "unicode"
    new_key_file(name, folder)
    ca = live.config.parent / "service.pem"
    profile = join(live.settings.url, code, profile=folder, ca=ca)
    assert profile.account == "c\u00e9leste"
    seen = review(profile, run_id, unpinned=True)
    assert not seen.refusals
    assert any("'way' (minimize) is public" in line for line in review_lines(seen))
    assert any("'way': a public objective decides" in each for each in seen.warnings)
    others = [replace(each, public_weights="ab" * 32) for each in seen.agreement.objectives]
    with profile.connect() as client:
        changed = replace(seen.agreement, objectives=others)
        (refusal,) = public_refusals(client, run_id, changed)
    assert "not the agreed ones" in refusal
    sign(profile, run_id, seen=seen)
    pay = np.random.default_rng(3).integers(0, 1000, (ROWS, ROWS))
    submit(profile, run_id, pay)
    result = ended(live, run_id)
    for plan in result["front"]:
        taken = np.arange(ROWS), np.array(plan["items"])
        assert plan["values"] == [pay[taken].sum(), WAYS[taken].sum()]
    verdict = check_logs(profile, run_id)
    assert verdict.ok, "\n".join(verdict.lines())
    with profile.connect() as client:
        bundle = read_bundle(client.runs.bundle(run_id))
    assert bundle.public == {1: WAYS.tolist()}
    assert check_bundle(bundle).ok
    assert record_run(live.settings, run_id).exists()


def ended(live: LivePlatform, run_id: str) -> dict[str, Any]:
    until = time.monotonic() + 60
    while live.call("GET", f"/runs/{run_id}", OPERATOR)["state"] != "finished":
        assert time.monotonic() < until
        time.sleep(0.2)
    found: dict[str, Any] = live.call("GET", f"/runs/{run_id}/result", OPERATOR)
    return found
