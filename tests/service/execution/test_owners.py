"""A plan for its owners through the whole platform on real nodes: it has nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from studies.benchmarks.live_platform import OPERATOR, LivePlatform

from tacit.client import PlatformClient
from tacit.errors import SealError, TrustError
from tacit.participant import Profile, check_logs, join, new_key_file, result, review, sign, submit
from tacit.participant.plans import plan_rows
from tacit.participant.review_words import review_lines
from tacit.records import OUTCOMES, DisclosedToOwners, parts_file, read_ledger, read_parts
from tacit.service.execution.report import read_report
from tacit.service.storage import Database, read_run_file, replace_run_file, restore_files
from tacit.service.workflow.evidence import record_of_run
from tests.conftest import RunTacit
from tests.service.execution.punctual import finished as until_finished

pytestmark = pytest.mark.processes

ROWS = 6
OWNED = {"cedar": [0, 2, 4], "dogwood": [1, 3], "elm": [5]}
WEIGHTS = np.random.default_rng(8).integers(0, 1000, (ROWS, ROWS))


@pytest.fixture(scope="module")
def profiles() -> dict[str, Profile]:
    return {}


@pytest.fixture(scope="module")
def finished(live: LivePlatform, profiles: dict[str, Profile]) -> str:
    """A run whose plan is for its owners, all of whom have read that, signed and handed in."""
    terms = {
        "name": "ours",
        "problem": {"name": "ours", "kind": "assignment", "rows": ROWS, "columns": ROWS},
        "objectives": [
            {"name": "delay", "sense": "minimize", "weight_bound": 1000, "disclosure": "sealed"}
        ],
        "participants": OWNED,
        "deadline_seconds": 60.0,
        "plan": "owners",
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
        assert "that there is a plan" in said
        assert "and nothing of it" in said
        assert "All but one of you together learn the columns of the last one" in said
        assert "If you lose the key, nobody can give you your part again" in said
        assert "learns nothing of your costs from it (0.00 on a scale" in said
        sign(profile, run_id, seen=seen)
    for name, profile in profiles.items():
        submit(profile, run_id, WEIGHTS[OWNED[name]])
    until_finished(live, run_id)
    return run_id


def test_each_participant_has_its_own_rows_and_nobody_else_any(
    live: LivePlatform,
    profiles: dict[str, Profile],
    finished: str,
    run_here: RunTacit,
    tmp_path: Path,
) -> None:
    plan: dict[int, int] = {}
    for name, profile in profiles.items():
        outcome = result(profile, finished)
        (own,) = outcome.own_rows
        assert sorted(own) == OWNED[name]
        assert (outcome.plan, outcome.rejected, outcome.receipts) == (None, [], 3)
        rows = plan_rows(outcome, profile.signed_agreement(finished), name)
        assert rows == [[str(row), str(column), "yours"] for row, column in sorted(own.items())]
        plan |= own
        verdict = check_logs(profile, finished)
        assert verdict.ok, verdict.lines()
        assert any("opened, to its owners alone" in line for line in verdict.lines())
    assert sorted(plan.values()) == list(range(ROWS))
    shown = run_here("participant", "result", finished, "--profile", profiles["elm"].folder)
    assert shown.stdout.splitlines()[1].split() == ["5", str(plan[5])]
    assert "your own part of the plan" in shown.stderr
    says_nothing_of_it(live, finished, [plan[row] for row in range(ROWS)], tmp_path)


@contextmanager
def database_of(live: LivePlatform) -> Iterator[Database]:
    database = Database(live.settings.database_url)
    try:
        yield database
    finally:
        database.close()


def says_nothing_of_it(live: LivePlatform, run_id: str, plan: list[int], folder: Path) -> None:
    """What the platform has, shows, keeps and hands out."""
    answer = live.call("GET", f"/runs/{run_id}/result", OPERATOR)
    assert (answer["plan"], answer["front"], answer["for_owners"]) == (None, None, True)
    for file, status, why in (
        ("result.csv", 409, "each participant has its own part"),
        ("parts", 403, "an operator may not"),
    ):
        with pytest.raises(RuntimeError, match=f": {status} .*{why}"):
            live.call("GET", f"/runs/{run_id}/{file}", OPERATOR)
    (entry,) = read_ledger(live.call("GET", f"/runs/{run_id}/ledger", OPERATOR))
    assert isinstance(entry.payload, DisclosedToOwners)
    assert (entry.payload.value, entry.payload.outcome in OUTCOMES) == (None, True)
    # One word says whether it is proved, and there is none of any row.
    word = live.agreement(run_id, OPERATOR).sealed_run.group_of(0).word.itemsize
    assert {len(part) for parts in entry.parts for _, sent in parts for part in sent} == {word}
    with database_of(live) as database, database.reading() as session:
        restore_files(session, run_id, folder)
    report = read_report(folder)
    assert report is not None
    assert (report.plans, report.for_owners) == ([], True)
    spellings = {
        msgspec.json.encode(plan),
        msgspec.msgpack.encode(plan),
        *(np.array(plan, dtype=kind).tobytes() for kind in ("u1", "<u2", "<u4", "<u8")),
    }
    for path in folder.iterdir():
        data = path.read_bytes()
        assert not [spelling for spelling in spellings if spelling in data], path


def test_the_record_of_it_has_no_plan(
    live: LivePlatform, profiles: dict[str, Profile], finished: str, tmp_path: Path
) -> None:
    agreement = profiles["elm"].need_signed_agreement(finished)
    with database_of(live) as database, database.reading() as session:
        restore_files(session, finished, tmp_path)
    record = record_of_run(agreement, tmp_path)
    assert (record.published, record.published_too) == ([], [])


def test_what_the_platform_changes_or_withholds_is_noticed(
    live: LivePlatform,
    profiles: dict[str, Profile],
    finished: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    profile = profiles["dogwood"]
    with database_of(live) as database, database.reading() as session:
        stored = read_run_file(session, finished, parts_file(0))
    assert stored is not None
    honest = read_parts(stored)
    there = [each for each in honest if each is not None]
    assert len(there) >= 2
    first = honest.index(there[0])
    boxes = list(there[0].boxes)
    boxes[0], boxes[1] = boxes[1], boxes[0]
    swapped = msgspec.structs.replace(there[0], boxes=boxes)

    def brings(parts: list[object]) -> None:
        with database_of(live) as database, database.writing() as session:
            replace_run_file(session, finished, parts_file(0), msgspec.msgpack.encode(parts))

    try:
        brings([swapped if node == first else each for node, each in enumerate(honest)])
        if len(there) == 3:  # the others have all of it
            outcome = result(profile, finished)
            assert [why.partition(":")[0] for why in outcome.rejected] == [f"node {first}"]
            said = "\n".join(check_logs(profile, finished).lines())
            assert f"node {first} sealed a part" in said
        assert not check_logs(profile, finished).ok
        brings([None if node == first else each for node, each in enumerate(honest)])
        assert not check_logs(profile, finished).ok
        brings([swapped, swapped, swapped])
        with pytest.raises(SealError, match="node 0: "):
            result(profile, finished)
    finally:
        brings([*honest])
    assert check_logs(profile, finished).ok
    # One that shows a plan has made it up.
    asked = PlatformClient.get

    def shows_a_plan(
        client: PlatformClient, path: str, kind: type[object], /, **how: Any
    ) -> object:
        answer = asked(client, path, kind, **how)
        if path.endswith("/result"):
            shown = {**msgspec.to_builtins(answer), "plan": {"items": list(range(ROWS))}}
            return msgspec.convert(shown, kind)
        return answer

    monkeypatch.setattr(PlatformClient, "get", shows_a_plan)
    with pytest.raises(TrustError, match="for its owners alone, so it is not the nodes'"):
        result(profile, finished)
    assert "should know nothing" in "\n".join(check_logs(profile, finished).lines())
