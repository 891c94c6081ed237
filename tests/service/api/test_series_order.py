"""What an operator could set up wrongly, so that all sign a series of which no run begins."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tacit.agreement import read_agreement
from tacit.service.execution.series_schedule import SeriesClock
from tacit.service.storage import read_standing_series
from tests.service.api.test_series import cancel, next_run, with_equity
from tests.service.example_terms import plain_terms
from tests.service.world import World

NAMES = ("north", "south", "outsider")
AGREED, SUBMITTED = "agreed", "submitted"
RUNNING, INTERRUPTED = "running", "interrupted"


def signed(world: World, **changes: Any) -> str:
    """A series of three that keeps balances, and that all have signed."""
    made = world.ok("POST", "/series", "op", json=with_equity(**changes))
    for name, code in made["invitations"].items():
        world.join(name, code, key=True)
    for name in NAMES:
        world.sign_series(made["id"], name)
    return str(made["id"])


def look(world: World, at: float) -> list[str]:
    platform = world.platform
    clock = SeriesClock(platform.settings, platform.database, platform.execution.draw_up)
    assert world.portal is not None
    return world.portal.call(clock.look, at)


@pytest.mark.parametrize("name", [None, "tuesday"])
def test_a_draft_that_was_overtaken_gets_another_number(world: World, name: str | None) -> None:
    """Machines that signed run 2 sign no run 1 after it, and the next would wait for that."""
    series_id = world.agreed_series(runs_per_day=48, schedule={"every_minutes": 30})
    draft = next_run(world, series_id, start=False, **({"name": name} if name else {}))
    cancel(world, next_run(world, series_id))
    due = world.ok("GET", f"/series/{series_id}", "op")["next_at"]
    assert look(world, due) == [draft["id"]]
    begun = world.ok("GET", f"/runs/{draft['id']}", "op")
    assert (begun["series_number"], begun["name"]) == (3, name or "daily 3")
    assert begun["terms"]["name"] == begun["name"]
    agreement = read_agreement(world.call("GET", f"/runs/{draft['id']}/agreement", "op").content)
    assert agreement.series is not None
    assert agreement.series.number == 3


def test_a_draft_that_nothing_overtook_keeps_its_number(world: World) -> None:
    series_id = world.agreed_series(runs_per_day=9)
    drafts = [next_run(world, series_id, start=False) for _ in range(2)]
    for number, draft in enumerate(drafts, start=1):
        world.ok("POST", f"/runs/{draft['id']}/invite", "op")
        assert world.ok("GET", f"/runs/{draft['id']}", "op")["series_number"] == number
        cancel(world, draft)


def test_a_pattern_whose_reference_plan_cannot_be_is_refused(world: World) -> None:
    problem = plain_terms()["problem"]
    # Row 1 may take what row 0 has taken before, and nothing else.
    masked = {**problem, "forbidden": [[1, column] for column in range(1, 4)]}
    given = {"equity": {"reference": "given"}}
    for body, why in (
        (with_equity(run={"problem": masked}), "leaves row 1 without a column"),
        (with_equity(run={"reference": [0, 1, 2, 3]}), "leave the reference out"),
        (with_equity(run={"reference": [0, 0, 1, 2]}, **given), "reference plan"),
        (with_equity(run={"problem": masked, "reference": [1, 2, 0, 3]}, **given), "reference"),
        (with_equity(run={"reference": [0, 1, 2]}, **given), "does not give each row a column"),
    ):
        answer = world.call("POST", "/series", "op", json=body)
        assert (answer.is_success, why in answer.text) == (False, True), answer.text
    assert world.ok("GET", "/series", "op") == []
    fits = {"problem": masked, "reference": [1, 0, 2, 3]}
    for run in (fits, {}):  # each run brings one, so the pattern need not
        assert world.ok("POST", "/series", "op", json=with_equity(run=run, **given))["id"]


def test_the_reference_plan_of_another_problem_is_not_copied(world: World) -> None:
    series_id = signed(world, run={"reference": [3, 2, 1, 0]}, equity={"reference": "given"})
    first = next_run(world, series_id)
    cancel(world, first)
    again = next_run(world, series_id)
    assert again["terms"]["reference"] == [3, 2, 1, 0]
    cancel(world, again)
    sent = first["terms"]["problem"]
    for same in (sent, {name: value for name, value in sent.items() if value is not None}):
        again = next_run(world, series_id, problem=same)
        assert again["terms"]["reference"] == [3, 2, 1, 0]
        cancel(world, again)
    problem = {**sent, "columns": 5}
    refused = world.call("POST", f"/series/{series_id}/runs", "op", json={"problem": problem})
    assert (refused.status_code, "gives a reference plan" in refused.text) == (422, True)
    run = next_run(world, series_id, problem=problem, reference=[4, 3, 2, 1])
    assert run["terms"]["reference"] == [4, 3, 2, 1]


def test_a_series_that_cannot_be_drawn_up_does_not_stop_the_clock(world: World) -> None:
    series_id = world.agreed_series(runs_per_day=48, schedule={"every_minutes": 30})
    run = plain_terms()
    run["participants"] = {"north": [0, 1], "west": [2, 3]}
    made = world.ok("POST", "/series", "op", json={"name": "other", "run": run})
    with world.platform.database.writing() as session:
        read_standing_series(session, made["id"]).cluster = "gone"
    world.join("west", made["invitations"]["west"], key=True)
    due = world.ok("GET", f"/series/{series_id}", "op")["next_at"]
    assert due > time.time()
    assert len(look(world, due)) == 1
