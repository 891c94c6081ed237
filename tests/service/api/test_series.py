"""A series on the platform: created, signed once, runs copied, started by the clock, ended."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.agreement import canonical, departures, read_agreement, read_series, series_hash
from tacit.client import ProblemTerms, VaryingTerms
from tacit.equity import FIRST_HEAD
from tacit.search.moves import AssignmentParameters
from tacit.service.execution.series_schedule import SeriesClock
from tacit.service.storage import read_run, read_standing_series
from tacit.service.workflow.series import varying_of
from tests.service.example_terms import plain_terms
from tests.service.world import World
from tests.support.repository import ROOT


def next_run(world: World, series_id: str, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = world.ok("POST", f"/series/{series_id}/runs", "op", json=changes)
    return made


def cancel(world: World, run: dict[str, Any]) -> None:
    world.ok("POST", f"/runs/{run['id']}/cancel", "op")


NAMES = ("north", "south", "outsider")


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
    clock = SeriesClock(platform.settings, platform.database)
    assert world.portal is not None
    begun = world.portal.call(clock.look, at)
    for run_id in begun:
        world.portal.call(platform.execution.changed, run_id)
    return begun


def test_a_series_is_drawn_up_when_all_have_joined_and_signed_once(world: World) -> None:
    series_id = world.invited_series(runs_per_day=5)
    data = world.call("GET", f"/series/{series_id}/document", "north").content
    series = read_series(data)
    assert [each.name for each in series.participants] == ["north", "south"]
    assert series.limits.runs_per_day == 5
    assert (series.varying.least_rows, series.varying.most_rows) == (2, 8)
    # Nobody said how far masks may differ: half of the columns stay open, and few pairs change.
    assert (series.varying.least_allowed, series.varying.most_mask_changes) == (1, 1)
    assert "not everybody" in world.refused(
        "wrong_state", "POST", f"/series/{series_id}/runs", "op"
    )
    assert world.sign_series(series_id, "north")["state"] == "invited"
    wrong = {"signature": "ab" * 64}
    world.refused("refused", "POST", f"/series/{series_id}/signature", "south", json=wrong)
    assert world.sign_series(series_id, "south")["state"] == "agreed"
    assert [each["id"] for each in world.ok("GET", "/series", "south")["items"]] == [series_id]
    assert world.ok("GET", "/series", "outsider")["items"] == []


def test_runs_are_copies_of_the_last_with_what_varies(world: World) -> None:
    series_id = world.agreed_series(runs_per_day=9)
    series = world.series(series_id)
    first = next_run(world, series_id)
    assert (first["series"], first["series_number"], first["state"]) == (series_id, 1, "invited")
    assert "wait until it has ended" in world.refused(
        "wrong_state", "POST", f"/series/{series_id}/runs", "op"
    )
    cancel(world, first)
    problem = {**plain_terms()["problem"], "rows": 3, "columns": 5}
    owners = {"south": [2], "north": [0, 1]}
    second = next_run(world, series_id, problem=problem, participants=owners, name="tuesday")
    cancel(world, second)
    third = next_run(world, series_id)
    assert (third["series_number"], third["name"]) == (3, "daily 3")
    for run, rows in ((first, 4), (second, 3), (third, 3)):
        agreement = world.agreement(run["id"])
        assert agreement.problem.rows == rows
        assert [each.name for each in agreement.participants] == ["north", "south"]
        assert agreement.series is not None
        assert agreement.series.series == series_hash(series)
        assert agreement.series.number == run["series_number"]
        assert departures(series, agreement, now=time.time()) == []


def test_an_honest_platform_draws_up_no_run_outside_its_series(world: World) -> None:
    series_id = world.agreed_series()
    problem = {**plain_terms()["problem"], "columns": 3, "rows": 1}
    body = {"problem": problem, "participants": {"north": [0]}}
    answer = world.call("POST", f"/series/{series_id}/runs", "op", json=body)
    assert answer.status_code == 422
    assert "it has 1 rows, and 2 to 8 were agreed on" in answer.text
    assert "1 participants are in it, and at least 2" in answer.text
    assert world.ok("GET", f"/series/{series_id}", "op")["its_runs"] == []


WIDE = ProblemTerms(
    name="slots", kind="assignment", rows=4, columns=40, forbidden=[(0, c) for c in range(25)]
)


@pytest.mark.parametrize(
    ("varying", "allowed", "changes"),
    [
        # Columns may be halved; the pattern leaves 15 of 40 open to one row.
        ({}, 10, 2),
        ({"least_columns": 40}, 15, 3),
        ({"parts": ["rows"]}, 15, 0),
        ({"parts": ["forbidden"], "most_mask_changes": 30}, 15, 30),
        ({"parts": ["forbidden"], "most_mask_changes": 0, "least_allowed": 1}, 1, 0),
    ],
)
def test_half_of_the_columns_stay_open_and_masks_near_the_pattern(
    varying: dict[str, Any], allowed: int, changes: int
) -> None:
    """Else a platform may choose masks at will: plans of 100 runs tell nearly all of the costs."""
    made = varying_of(VaryingTerms(**varying), WIDE)
    assert (made.least_allowed, made.most_mask_changes) == (allowed, changes)


def test_no_run_is_made_whose_mask_is_far_from_the_pattern(world: World) -> None:
    series_id = world.agreed_series()
    for pairs, said in (
        ([(0, 0), (0, 1)], "its mask differs from the pattern's in 2 pairs of a row"),
        ([(0, 0), (1, 0)], ""),
    ):
        body = {"problem": {**plain_terms()["problem"], "forbidden": pairs}}
        answer = world.call("POST", f"/series/{series_id}/runs", "op", json=body)
        assert answer.is_success is (not said), answer.text
        assert said in answer.text


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"runs_per_day": 0}, "at runs_per_day"),
        ({"schedule": {}}, "every_minutes, or times of day"),
        ({"schedule": {"every_minutes": 10}}, "144 runs a day and the series allows 1"),
        ({"varying": {"least_rows": 5}}, "let the limits contain it"),
    ],
)
def test_what_no_series_can_be_made_of_is_refused(
    world: World, changes: dict[str, Any], said: str
) -> None:
    terms = {"name": "daily", "run": plain_terms(), **changes}
    answer = world.call("POST", "/series", "op", json=terms)
    assert answer.status_code in (400, 422)
    assert said in answer.text
    assert world.ok("GET", "/series", "op")["items"] == []


def test_runs_start_by_the_clock_and_never_pile_up(world: World) -> None:
    schedule = {"every_minutes": 30}
    series_id = world.agreed_series(runs_per_day=48, schedule=schedule)
    due = world.ok("GET", f"/series/{series_id}", "op")["next_at"]
    assert 0 < due - time.time() <= 1800
    assert look(world, due - 1) == []
    (first,) = look(world, due)
    assert world.ok("GET", f"/runs/{first}", "op")["agreement_hash"]
    assert look(world, due + 1) == []
    # The first is still under way when the next is due; that one is left out.
    assert look(world, due + 1800) == []
    world.ok("POST", f"/runs/{first}/cancel", "op")
    prepared = next_run(world, series_id, name="tuesday", start=False)
    assert prepared["state"] == "draft"
    assert look(world, due + 9999) == [prepared["id"]]
    world.ok("POST", f"/series/{series_id}/end", "south", json={"reason": "we stop"})
    assert look(world, due + 20000) == []
    shown = world.ok("GET", f"/series/{series_id}", "op")
    assert (shown["state"], shown["reason"]) == ("ended", "ended by south: we stop")
    world.refused("wrong_state", "POST", f"/series/{series_id}/runs", "op")


def test_a_draft_of_a_series_is_changed_within_what_was_signed(world: World) -> None:
    series_id = world.agreed_series(runs_per_day=9)
    series = world.series(series_id)
    drafted = next_run(world, series_id, start=False)
    path, terms = f"/runs/{drafted['id']}", drafted["terms"]
    smaller = {**terms["problem"], "rows": 3}
    changed = {
        **terms,
        "name": "tuesday",
        "problem": smaller,
        "participants": {"south": [2], "north": [0, 1]},
        "deadline_seconds": terms["deadline_seconds"] / 2,
    }
    seen = world.ok("PUT", path, "op", json=changed)
    assert (seen["name"], seen["state"], seen["series_number"]) == ("tuesday", "draft", 1)
    limits = terms["limits"]
    for wrong, said in (
        ({"objectives": [{**terms["objectives"][0], "disclosure": "none"}]}, "objectives: signed"),
        ({"parameters": {"population": 120}}, "parameters: signed with the series"),
        ({"on_loss": "three"}, "on_loss: signed"),
        ({"limits": {**limits, "expiry_hours": 3.0}}, "expiry_hours: signed"),
        ({"limits": {**limits, "evaluations": limits["evaluations"] + 1}}, "at most"),
        ({"deadline_seconds": terms["deadline_seconds"] + 1}, "the deadline of a run of this"),
        ({"participants": {"north": [0, 1], "outsider": [2]}}, "'outsider' did not sign"),
        ({"problem": {**smaller, "columns": 9}}, "2 to 8 were agreed on"),
    ):
        refused = world.call("PUT", path, "op", json={**changed, **wrong})
        assert (refused.status_code, said in refused.text) == (422, True), (wrong, refused.text)
    assert world.ok("GET", path, "op")["terms"] == seen["terms"]
    world.ok("POST", f"{path}/invite", "op")
    agreement = world.agreement(path.removeprefix("/runs/"))
    assert departures(series, agreement, now=time.time()) == []
    assert agreement.problem.rows == 3
    assert [each.name for each in agreement.participants] == ["north", "south"]
    world.refused("wrong_state", "PUT", path, "op", json=changed)


def test_runs_of_a_sealed_series_have_its_steps_whatever_their_size(world: World) -> None:
    sealed = with_equity()["run"] | {"participants": {"north": [0, 1], "south": [2, 3]}}
    series_id = world.agreed_series(runs_per_day=9, run=sealed)
    series = world.series(series_id)
    settings = series.pattern().sealed_run.parameters
    assert isinstance(settings, AssignmentParameters)
    assert settings.iterations >= series.varying.most_rows > series.problem.rows
    assert series.limits.evaluations == settings.steps
    problem = sealed["problem"]
    owners = {"north": [0, 1, 2, 3], "south": [4, 5, 6, 7]}
    for changes in (
        {},
        {"problem": {**problem, "rows": 8, "columns": 8}, "participants": owners},
        {"problem": {**problem, "rows": 2}, "participants": {"north": [0], "south": [1]}},
    ):
        run = next_run(world, series_id, **changes)
        agreement = world.agreement(run["id"])
        assert agreement.sealed_run.parameters == settings
        assert agreement.limits.evaluations == settings.steps
        assert departures(series, agreement, now=time.time()) == []
        cancel(world, run)
    drafted = next_run(world, series_id, start=False)
    path, terms = f"/runs/{drafted['id']}", drafted["terms"]
    world.ok("PUT", path, "op", json={**terms, "deadline_seconds": terms["deadline_seconds"] / 2})
    fewer = {**terms, "limits": {**terms["limits"], "evaluations": 3}}
    assert "evaluations: signed" in world.refused("refused", "PUT", path, "op", json=fewer)


def test_iterations_that_a_series_names_stay_as_they_are(world: World) -> None:
    sealed = with_equity()["run"] | {"participants": {"north": [0, 1], "south": [2, 3]}}
    series_id = world.agreed_series(run=sealed | {"parameters": {"iterations": 7}})
    series = world.series(series_id)
    settings = series.pattern().sealed_run.parameters
    assert isinstance(settings, AssignmentParameters)
    assert settings.iterations == 7


def test_a_run_that_has_expired_does_not_block_the_next(world: World) -> None:
    series_id = world.agreed_series(runs_per_day=9)
    first = next_run(world, series_id)
    assert "wait until it has ended" in world.refused(
        "wrong_state", "POST", f"/series/{series_id}/runs", "op"
    )
    with world.platform.database.writing() as session:
        run = read_run(session, first["id"])
        agreement = read_agreement(run.agreement or b"")
        past = replace(agreement, limits=replace(agreement.limits, expires=int(time.time())))
        run.agreement = canonical(past)
    second = next_run(world, series_id)
    assert (second["series_number"], second["state"]) == (2, "invited")
    ended = world.ok("GET", f"/runs/{first['id']}", "op")
    assert (ended["state"], "expired before everybody had" in ended["reason"]) == ("failed", True)


def test_who_joins_with_another_key_does_not_change_a_series(world: World) -> None:
    world.agreed_series()
    code = world.ok("POST", "/accounts/north/invitation", "op")["invitation"]
    del world.keys["north"]
    with pytest.raises(AssertionError, match="has your earlier signing key"):
        world.join("north", code, key=True)


def test_the_terms_in_the_document_are_taken(world: World) -> None:
    document = (ROOT / "docs" / "series.md").read_text()
    terms = json.loads(document.partition("```json")[2].partition("```")[0])
    assert world.ok("POST", "/series", "op", json=terms)["state"] == "invited"


def with_equity(**changes: Any) -> dict[str, Any]:
    """The terms of a series of three that keeps balances."""
    run = plain_terms()
    run["objectives"] = [{**run["objectives"][0], "disclosure": "sealed"}]
    run |= {"preset": None, "parameters": {}, "limits": {}}
    run["participants"] = {"north": [0, 1], "south": [2], "outsider": [3]}
    run |= changes.pop("run", {})
    return {"name": "daily", "run": run, "runs_per_day": 9, "equity": {}, **changes}


def evaluated(disclosure: str, best: str = "nothing") -> dict[str, Any]:
    """What is different where candidates are evaluated."""
    run = plain_terms()
    told = {**run["objectives"][0], "disclosure": disclosure, "best": best}
    return {
        **{name: run[name] for name in ("preset", "parameters", "limits")},
        "objectives": [told],
    }


def test_a_series_with_equity_is_refused_where_it_would_tell_balances(world: World) -> None:
    for body, why in (
        (with_equity(run={"participants": {"north": [0, 1], "south": [2, 3]}}), "at least 3"),
        (with_equity(varying={"least_participants": 2}), "would tell balances"),
        (with_equity(run=evaluated("none")), "multiples of factors"),
        (with_equity(run=evaluated("top:2", best="value")), "would tell factors"),
        (with_equity(equity={"levels": 16}), "levels"),
        (with_equity(run={"reference": [0, 1, 2, 3]}, equity=None), "leave it out"),
    ):
        answer = world.call("POST", "/series", "op", json=body)
        assert (answer.is_success, why in answer.text) == (False, True), answer.text
    ranked = world.ok("POST", "/series", "op", json=with_equity(run=evaluated("top:2")))
    assert ranked["state"] == "invited"


def test_runs_of_a_series_with_equity_name_head_and_reference(world: World) -> None:
    made = world.ok("POST", "/series", "op", json=with_equity())
    for name, code in made["invitations"].items():
        world.join(name, code, key=True)
    document = world.call("GET", f"/series/{made['id']}/document", "north").content
    series = read_series(document)
    assert series.equity is not None
    assert (series.equity.levels, series.equity.told, series.equity.every) == (4, "level", 8)
    assert series.varying.least_participants == 3
    for name in ("north", "south", "outsider"):
        world.sign_series(made["id"], name)
    run = next_run(world, made["id"])
    agreement = world.agreement(run["id"])
    assert agreement.equity is not None
    assert (agreement.equity.head, agreement.equity.reference) == (FIRST_HEAD, [0, 1, 2, 3])
    assert departures(series, agreement, now=time.time()) == []


# What an operator could set up wrongly, so that all sign a series of which no run begins.


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
    agreement = world.agreement(draft["id"])
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
    assert world.ok("GET", "/series", "op")["items"] == []
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
    assert "gives a reference plan" in world.refused(
        "refused", "POST", f"/series/{series_id}/runs", "op", json={"problem": problem}
    )
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
