"""Sealed searches through the whole platform on real nodes: nothing but the plan, killed or not."""

from __future__ import annotations

import csv
import io
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.engine.records.events import GenerationsBegun
from tacit.engine.records.ledger import EvaluationAnswer, OpenedPlan, read_ledger
from tacit.engine.records.node_log import verify_log
from tacit.errors import LogError
from tacit.participant import Profile, check_logs, join, new_key_file, result, review, sign, submit
from tacit.participant.review_words import review_lines
from tacit.verify.sealed.generations import check_asked
from tacit.verify.sealed.opened import check_opened, check_plan
from tacit.verify.verdict import Claim
from tests.service.execution.punctual import answered_on_time, caught, finished

pytestmark = pytest.mark.processes

ROWS = 10
NAMES = ("amber", "birch")


@pytest.fixture(scope="module")
def profiles() -> dict[str, Profile]:
    return {}


def submitted(live: LivePlatform, profiles: dict[str, Profile], deadline: float) -> str:
    """A sealed run whose participants have all joined, reviewed, signed and handed in."""
    terms = {
        "name": "slots",
        "problem": {"name": "slots", "kind": "assignment", "rows": ROWS, "columns": ROWS},
        "objectives": [
            {"name": "delay", "sense": "minimize", "weight_bound": 1000, "disclosure": "sealed"}
        ],
        "participants": {name: list(range(ROWS))[k::2] for k, name in enumerate(NAMES)},
        "limits": {"evaluations": 100_000},
        "parameters": {"method": "search"},
        "deadline_seconds": deadline,
    }
    run_id: str = live.call("POST", "/runs", OPERATOR, json=terms)["id"]
    codes = live.call("POST", f"/runs/{run_id}/invite", OPERATOR)["invitations"]
    for name, code in codes.items():
        folder: Path = live.folder / name
        new_key_file(name, folder)
        profiles[name] = join(
            live.settings.url, code, profile=folder, ca=live.config.parent / "service.pem"
        )
    live.wait_for_agreement(run_id, OPERATOR)
    for profile in profiles.values():
        seen = review(profile, run_id, unpinned=True)
        said = "\n".join(review_lines(seen))
        assert "the plan that was found, and nothing else; not its total" in said
        assert "evaluations" not in said
        sign(profile, run_id, seen=seen)
    for name, profile in profiles.items():
        weights = np.random.default_rng(list(name.encode())).integers(0, 1000, (ROWS // 2, ROWS))
        done = submit(profile, run_id, weights, again=True)
        assert done.receipts == 3  # before it runs, too
    return run_id


def told_nothing_but_the_plan(live: LivePlatform, run_id: str, plan: list[int]) -> None:
    data = live.call("GET", f"/runs/{run_id}/ledger", OPERATOR)
    (entry,) = read_ledger(data, sealed=True)
    assert isinstance(entry, OpenedPlan)
    assert (entry.plan, entry.value) == (plan, None)
    progress = live.call("GET", f"/runs/{run_id}/progress.csv", OPERATOR).decode()
    told = list(csv.DictReader(io.StringIO(progress)))
    assert told
    assert {(line["evaluations"], line["best"]) for line in told} == {("0", "")}
    generations = [int(line["generation"]) for line in told]
    assert generations == sorted(generations)


def checked(live: LivePlatform, profiles: dict[str, Profile], run: dict[str, Any]) -> int:
    """The generations of a finished run of which everything was checked."""
    run_id = run["id"]
    outcome = result(profiles["amber"], run_id)
    assert outcome.receipts == 3
    assert outcome.plan is not None
    assert sorted(outcome.plan.items) == list(range(ROWS))
    assert run["progress"]["best"] == [None]
    told_nothing_but_the_plan(live, run_id, outcome.plan.items)
    verdict = check_logs(profiles["birch"], run_id)
    assert verdict.ok, verdict.lines()
    assert any("only the plan was opened" in line for line in verdict.lines())
    assert outcome.generation is not None
    return outcome.generation


def test_a_sealed_run_tells_its_plan_by_the_deadline_and_nothing_else(
    live: LivePlatform, profiles: dict[str, Profile]
) -> None:
    with answered_on_time() as hand_in:
        run_id = submitted(live, profiles, deadline=1.5)
        run = finished(live, run_id, hand_in)
    assert run["reason"] == "the deadline came"
    assert checked(live, profiles, run) > 0
    lies_are_noticed(live, profiles["birch"], run_id)


def lies_are_noticed(live: LivePlatform, profile: Profile, run_id: str) -> None:
    """What a platform could show in place of the truth, against the nodes' real logs."""
    asked = live.call("POST", f"/runs/{run_id}/logs", OPERATOR, json={"nonce": "ab" * 16})
    logs = [verify_log(b64decode(each["log"])) for each in asked["logs"]]
    data = live.call("GET", f"/runs/{run_id}/ledger", OPERATOR)
    ledger = read_ledger(data, sealed=True)
    outcome, agreement = result(profile, run_id), profile.need_signed_agreement(run_id)
    assert outcome.plan is not None
    assert outcome.generation is not None
    items = outcome.plan.items
    other = [*items[1:], items[0]]
    replace = msgspec.structs.replace
    told = {
        "changed": [replace(ledger[0], plan=other)],
        "told a value": [replace(ledger[0], value=-1000)],
        "left out": [],
        "told more": [*ledger, EvaluationAnswer(0, 1, "", [1, 0], None)],
        "two plans": [*ledger, replace(ledger[0], plan=other)],
    }
    for what, lie in told.items():
        with pytest.raises(LogError):
            pytest.fail(f"{what}: {check_opened(agreement, logs, lie)}")
    with pytest.raises(LogError, match="asked for different generations"):
        check_asked([logs[0], logs[1], [e for e in logs[2] if not isinstance(e, GenerationsBegun)]])
    with pytest.raises(LogError, match="the nodes opened another plan than this"):
        check_plan(agreement, logs, ledger, Claim(other, outcome.generation))
    with pytest.raises(LogError, match="has shown here"):
        check_plan(agreement, logs, ledger, Claim(items, outcome.generation, other))
    with pytest.raises(LogError, match="the logs say"):
        check_plan(agreement, logs, ledger, Claim(items, outcome.generation + 1))


def test_after_a_kill_it_goes_on_from_the_states_that_the_nodes_keep(
    live: LivePlatform, profiles: dict[str, Profile]
) -> None:
    def begun(deadline: float) -> str:
        return submitted(live, profiles, deadline=deadline)

    run_id = caught(live, begun, 2.0, least=1, what="generation")
    before = live.run(run_id)["progress"]["generation"]
    live.kill()
    live.start()
    run = live.run(run_id)
    assert run["state"] == "interrupted"
    assert live.call("GET", f"/runs/{run_id}/result", OPERATOR)["plan"] is None
    assert live.call("GET", f"/runs/{run_id}/ledger", OPERATOR) == b""
    with answered_on_time() as hand_in:
        live.call("POST", f"/runs/{run_id}/resume", OPERATOR)
        run = finished(live, run_id, hand_in)
    assert checked(live, profiles, run) > before
