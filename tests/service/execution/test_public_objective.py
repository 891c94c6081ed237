"""A public objective beside a confidential one, through the whole platform on real nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from studies.benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.participant import Profile, check_logs, join, new_key_file, review, sign, submit
from tacit.participant.review_words import review_lines
from tacit.participant.reviewing import public_refusals
from tacit.service.workflow.evidence import record_run
from tacit.verify import check_bundle, read_bundle
from tests.service.execution.slow_node import PLACES, restart_slow

pytestmark = pytest.mark.processes

ROWS = 8
WAYS = np.random.default_rng(7).integers(0, 100, (ROWS, ROWS))


def drafted(live: LivePlatform, name: str, *, evaluations: int) -> str:
    pay = {"name": "pay", "sense": "maximize", "weight_bound": 1000, "disclosure": "none",
           "best": "value"}  # fmt: skip
    way = {"name": "way", "sense": "minimize", "weight_bound": 100, "confidential": False,
           "disclosure": "none", "best": "value", "weights": WAYS.tolist()}  # fmt: skip
    terms = {
        "name": "two",
        "problem": {"name": "two", "kind": "assignment", "rows": ROWS, "columns": ROWS},
        "objectives": [pay, way],
        "participants": {name: list(range(ROWS))},
        "limits": {"evaluations": evaluations},
        "deadline_seconds": 120.0,
    }
    run_id: str = live.call("POST", "/runs", OPERATOR, json=terms)["id"]
    return run_id


def joined(live: LivePlatform, run_id: str) -> Profile:
    ((name, code),) = live.call("POST", f"/runs/{run_id}/invite", OPERATOR)["invitations"].items()
    folder: Path = live.folder / run_id
    new_key_file(name, folder)
    ca = live.config.parent / "service.pem"
    profile = join(live.settings.url, code, profile=folder, ca=ca)
    live.wait_for_agreement(run_id, OPERATOR)
    return profile


def test_nodes_and_participants_follow_a_search_with_a_public_objective(
    live: LivePlatform,
) -> None:
    run_id = drafted(live, "ce\u0301leste", evaluations=5)
    profile = joined(live, run_id)
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


@pytest.mark.parametrize("place", PLACES)
def test_the_last_answer_is_proven_though_a_node_is_slow(live: LivePlatform, place: str) -> None:
    """The platform has the last answer before a node has written down that it gave it."""
    cluster = live.clusters[0]
    restart_slow(cluster, 1, place)
    try:
        run_id = drafted(live, f"linden-{len(place)}", evaluations=1)
        profile = joined(live, run_id)
        sign(profile, run_id, seen=review(profile, run_id, unpinned=True))
        submit(profile, run_id, np.ones((ROWS, ROWS), dtype=np.int64))
        ended(live, run_id)
        verdict = check_logs(profile, run_id)
        assert verdict.ok, "\n".join(verdict.lines())
    finally:
        cluster.kill(1)
        cluster.restart(1)


def ended(live: LivePlatform, run_id: str) -> dict[str, Any]:
    live.wait(run_id, "finished")
    found: dict[str, Any] = live.call("GET", f"/runs/{run_id}/result", OPERATOR)
    return found
