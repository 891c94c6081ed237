"""Sealed searches through the whole platform on real nodes: nothing but the plan, killed or not."""

from __future__ import annotations

import csv
import io
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from studies.benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.errors import LogError
from tacit.participant import Profile, check_logs, join, new_key_file, result, review, sign, submit
from tacit.participant.review_words import review_lines
from tacit.records.events import BatchBegun
from tacit.records.ledger import DisclosedPlan, read_ledger
from tacit.records.log import verify_log
from tacit.verify.claims import Claim, check_plan
from tacit.verify.disclosed import check_disclosed
from tacit.verify.sealed import check_asked
from tests.on_nodes.entries import evaluation, lying
from tests.service.execution.punctual import answered_on_time, caught, finished

pytestmark = pytest.mark.processes

ROWS = 10
NAMES = ("amber", "birch")
MANY = 1_000_000
"""Iterations that no machine makes by the deadline."""


@pytest.fixture(scope="module")
def profiles() -> dict[str, Profile]:
    return {}


def weights_of(name: str) -> NDArray[np.int64]:
    return np.random.default_rng(list(name.encode())).integers(0, 1000, (ROWS // 2, ROWS))


def submitted(
    live: LivePlatform, profiles: dict[str, Profile], deadline: float, iterations: int
) -> str:
    """A sealed run whose participants have all joined, reviewed, signed and handed in."""
    terms = {
        "name": "slots",
        "problem": {"name": "slots", "kind": "assignment", "rows": ROWS, "columns": ROWS},
        "objectives": [
            {"name": "delay", "sense": "minimize", "weight_bound": 1000, "disclosure": "sealed"}
        ],
        "participants": {name: list(range(ROWS))[k::2] for k, name in enumerate(NAMES)},
        "parameters": {"iterations": iterations},
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
        assert "the plan that was found, and whether it is proved" in said
        assert "and nothing else; not its total" in said
        assert "evaluations" not in said
        sign(profile, run_id, seen=seen)
    for name, profile in profiles.items():
        done = submit(profile, run_id, weights_of(name), again=True)
        assert done.receipts == 3  # before it runs, too
    return run_id


def told_nothing_but_the_plan(live: LivePlatform, run_id: str, plan: list[int]) -> None:
    data = live.call("GET", f"/runs/{run_id}/ledger", OPERATOR)
    (entry,) = read_ledger(data)
    assert isinstance(entry.payload, DisclosedPlan)
    assert (entry.payload.plan, entry.payload.value) == (plan, None)
    progress = live.call("GET", f"/runs/{run_id}/progress.csv", OPERATOR).decode()
    told = list(csv.DictReader(io.StringIO(progress)))
    assert told
    assert {(line["evaluations"], line["best"]) for line in told} == {("0", "")}
    generations = [int(line["generation"]) for line in told]
    assert generations == sorted(generations)


def checked(live: LivePlatform, profiles: dict[str, Profile], run: dict[str, Any]) -> int:
    """The steps of a finished run of which everything was checked."""
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


def is_best(plan: list[int]) -> bool:
    """Whether no plan of the costs that were handed in is cheaper."""
    costs = np.zeros((ROWS, ROWS), np.int64)
    for k, name in enumerate(NAMES):
        costs[k::2] = weights_of(name)
    rows, columns = linear_sum_assignment(costs)
    return bool(costs[np.arange(ROWS), plan].sum() == costs[rows, columns].sum())


def test_a_sealed_run_is_answered_when_its_steps_are_made_and_tells_nothing_but_its_plan(
    live: LivePlatform, profiles: dict[str, Profile]
) -> None:
    run_id = submitted(live, profiles, deadline=600.0, iterations=60)
    run = live.wait(run_id, "finished")
    assert run["reason"] == "all agreed steps were made"
    assert run["ended"] < run["deadline_at"]
    agreed = profiles["birch"].need_signed_agreement(run_id).limits.evaluations
    assert checked(live, profiles, run) == agreed
    assert (run["progress"]["generation"], run["progress"]["steps"]) == (agreed, agreed)
    found = live.call("GET", f"/runs/{run_id}/result", OPERATOR)
    assert found["proved"]
    assert is_best(found["plan"]["items"])
    lies_are_noticed(live, profiles["birch"], run_id)


def test_a_sealed_run_tells_its_plan_by_the_deadline(
    live: LivePlatform, profiles: dict[str, Profile]
) -> None:
    with answered_on_time() as hand_in:
        run_id = submitted(live, profiles, deadline=2.0, iterations=MANY)
        run = finished(live, run_id, hand_in)
    assert run["reason"].startswith("the deadline came")
    assert checked(live, profiles, run) > 0


def lies_are_noticed(live: LivePlatform, profile: Profile, run_id: str) -> None:
    """What a platform could show in place of the truth, against the nodes' real logs."""
    asked = live.call("POST", f"/runs/{run_id}/logs", OPERATOR, json={"nonce": "ab" * 16})
    logs = [verify_log(b64decode(each["log"])) for each in asked["logs"]]
    data = live.call("GET", f"/runs/{run_id}/ledger", OPERATOR)
    ledger = read_ledger(data)
    outcome, agreement = result(profile, run_id), profile.need_signed_agreement(run_id)
    assert outcome.plan is not None
    assert outcome.generation is not None
    items = outcome.plan.items
    other = [*items[1:], items[0]]
    told = {
        "changed": [lying(ledger[0], plan=other)],
        "told a value": [lying(ledger[0], value=-1000)],
        "left out": [],
        "told more": [*ledger, evaluation(1, [1, 0])],
        "two plans": [*ledger, lying(ledger[0], plan=other)],
    }
    for what, lie in told.items():
        with pytest.raises(LogError):
            pytest.fail(f"{what}: {check_disclosed(agreement, logs, lie)}")
    with pytest.raises(LogError, match="asked for different steps"):
        check_asked([logs[0], logs[1], [e for e in logs[2] if not isinstance(e, BatchBegun)]])
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
        return submitted(live, profiles, deadline=deadline, iterations=MANY)

    run_id = caught(live, begun, 2.0, least=1, what="generation")
    before = live.run(run_id)["progress"]["generation"]
    live.kill()
    live.start()
    # By itself, if the start has left it the time.
    run = live.wait(run_id, "interrupted", "finished")
    if run["state"] == "interrupted":
        assert live.call("GET", f"/runs/{run_id}/result", OPERATOR)["plan"] is None
        assert live.call("GET", f"/runs/{run_id}/ledger", OPERATOR) == b""
        with answered_on_time() as hand_in:
            live.call("POST", f"/runs/{run_id}/resume", OPERATOR)
            run = finished(live, run_id, hand_in)
    assert checked(live, profiles, run) > before
