"""A run through the API, from its draft to its end."""

from __future__ import annotations

import threading
import time

import pytest

from tacit.agreement.terms import Agreement, read_agreement
from tacit.errors import ServiceError
from tacit.identity.keys import Keys
from tacit.service.storage import set_agreement
from tacit.service.workflow import submitting
from tests.service.example_terms import plain_terms
from tests.service.world import World, joining_body


def test_from_draft_to_result(world: World) -> None:
    run_id = world.draft()
    invited = world.ok("POST", f"/runs/{run_id}/invite", "op")
    assert invited["state"] == "invited"
    assert set(invited["invitations"]) == {"north", "south"}
    world.join("north", invited["invitations"]["north"], key=True)
    waiting = world.call("GET", f"/runs/{run_id}/agreement", "north")
    assert waiting.status_code == 404
    assert waiting.json()["message"].endswith("waiting for: south")
    world.join("south", invited["invitations"]["south"], key=True)
    agreement = world.call("GET", f"/runs/{run_id}/agreement", "north")
    assert (
        agreement.headers["tacit-agreement"]
        == world.ok("GET", f"/runs/{run_id}", "eye")["agreement_hash"]
    )

    for name in ("north", "south"):
        body = {"signature": world.signature(run_id, name)}
        state = world.ok("POST", f"/runs/{run_id}/signature", name, json=body)["state"]
        assert world.ok("POST", f"/runs/{run_id}/signature", name, json=body)["state"] == state
    assert state == "agreed"
    assert world.execution.calls[-1] == ("agreed", run_id)

    for name in ("north", "south"):
        body = world.sealed(run_id, name)
        first = world.call("POST", f"/runs/{run_id}/submission", name, json=body)
        assert first.status_code == 201
        again = world.call("POST", f"/runs/{run_id}/submission", name, json=body)
        assert again.status_code == 201
    assert [state for state, _ in world.execution.calls].count("agreed") == 3
    assert world.ok("GET", f"/runs/{run_id}", "south")["state"] == "submitted"
    assert world.ok("GET", f"/runs/{run_id}/submission", "south")[0]["state"] == "accepted"

    world.refused("wrong_state", "GET", f"/runs/{run_id}/result", "north")
    world.run_to(run_id, "finished")
    result = world.ok("GET", f"/runs/{run_id}/result", "north")
    assert result["plan"]["items"] == [1, 0, 3, 2]
    csv = world.call("GET", f"/runs/{run_id}/result.csv", "eye")
    assert csv.text.splitlines()[:2] == ["row,column", "0,1"]
    progress = world.call("GET", f"/runs/{run_id}/progress.csv", "eye").text
    assert progress.splitlines()[1] == "0,0.0,1,10.0,90.0"
    logs = world.ok("POST", f"/runs/{run_id}/logs", "north", json={"nonce": "ab" * 16})
    assert [each["node"] for each in logs["logs"]] == [0, 1, 2]
    assert logs["words"] == {"0": "ab"}
    summary = world.ok("GET", "/runs", "south")["items"]
    assert [(each["id"], each["best"]) for each in summary] == [(run_id, [88.0])]


def test_a_draft_can_be_changed_and_discarded_and_nothing_later_can(world: World) -> None:
    run_id = world.draft()
    terms = world.ok("GET", f"/runs/{run_id}", "op")["terms"]
    changed = world.ok("PUT", f"/runs/{run_id}", "op", json={**terms, "name": "evening"})
    assert changed["name"] == "evening"
    other = world.draft()
    assert world.call("DELETE", f"/runs/{other}", "op").status_code == 204
    world.refused("not_found", "GET", f"/runs/{other}", "op")
    world.ok("POST", f"/runs/{run_id}/invite", "op")
    world.refused("wrong_state", "PUT", f"/runs/{run_id}", "op", json=terms)
    world.refused("wrong_state", "DELETE", f"/runs/{run_id}", "op")
    world.refused("wrong_state", "POST", f"/runs/{run_id}/invite", "op")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"participants": {"north": [0, 1]}}, "row 2 has no owner"),
        ({"preset": "best"}, "is not a preset"),
        ({"parameters": {"populace": 3}}, "is not a setting"),
        ({"parameters": {"population": "many"}}, "population"),
        ({"parameters": {"population": 4}}, "elites"),
        ({"limits": {"distinct_min": 1000}}, "limits"),
    ],
)
def test_terms_that_no_agreement_could_be_made_of_are_refused(
    world: World, change: dict[str, object], said: str
) -> None:
    terms = world.ok("GET", f"/runs/{world.draft()}", "op")["terms"]
    assert said in world.refused("refused", "POST", "/runs", "op", json={**terms, **change})


def test_public_objectives_have_their_weights_at_an_address_of_their_own(world: World) -> None:
    terms = world.ok("GET", f"/runs/{world.draft()}", "op")["terms"]
    weights = [[1, 2, 3, 4]] * 4
    way = {"name": "way", "sense": "minimize", "weight_bound": 4, "confidential": False,
           "disclosure": "none", "best": "value", "weights": weights}  # fmt: skip
    (delay,), preset = terms["objectives"], "paper-moap"
    both = {**terms, "objectives": [delay, way], "preset": preset}
    made = world.ok("POST", "/runs", "op", json=both)
    assert [each["confidential"] for each in made["terms"]["objectives"]] == [True, False]
    assert made["terms"]["objectives"][1]["weights"] is None
    found = world.ok("GET", f"/runs/{made['id']}/public-weights", "op")
    assert found == {"objectives": {"1": weights}}
    mine = world.call(
        "POST", "/runs", "op", json={**both, "objectives": [{**delay, "weights": []}]}
    )
    assert "leave them out" in mine.json()["message"]
    alone = world.call("POST", "/runs", "op", json={**both, "objectives": [way]})
    assert "nothing of this run is confidential" in alone.json()["message"]


def test_names_have_letters_of_any_script_in_one_form(world: World) -> None:
    names = {"ce\u0301leste": [0, 1], "Łódź_2": [2, 3]}
    run_id = world.draft(participants=names)
    invited = world.ok("POST", f"/runs/{run_id}/invite", "op")
    assert list(invited["invitations"]) == ["c\u00e9leste", "Łódź_2"]
    world.join("c\u00e9leste", invited["invitations"]["c\u00e9leste"], key=True)
    again = world.ok("POST", "/accounts/ce\u0301leste/invitation", "op")
    assert again["name"] == "c\u00e9leste"
    for name in ("a b", "a\u202eb", "", "-a"):
        world.refused("malformed", "POST", "/runs", "op", json={**both_rows(name)})


def both_rows(name: str) -> dict[str, object]:
    terms = plain_terms()
    return {**terms, "participants": {name: [0, 1, 2, 3]}}


def test_withdrawing_cancels_until_it_runs(world: World) -> None:
    run_id = world.submitted()
    gone = world.ok("POST", f"/runs/{run_id}/withdraw", "north", json={"reason": "too early"})
    assert (gone["state"], gone["reason"]) == ("cancelled", "north has withdrawn: too early")
    assert ("cancelled", run_id) in world.execution.calls
    running = world.ended("running")
    world.refused("wrong_state", "POST", f"/runs/{running}/withdraw", "north")


def test_cancelling_and_resuming(world: World) -> None:
    running = world.ended("running")
    assert world.ok("POST", f"/runs/{running}/cancel", "op")["reason"] == "cancelled by op"
    world.refused("wrong_state", "POST", f"/runs/{running}/cancel", "op")
    early = world.draft()
    assert world.ok("POST", f"/runs/{early}/cancel", "op")["state"] == "cancelled"
    nonce = {"nonce": "ab" * 16}
    world.refused("not_found", "POST", f"/runs/{early}/logs", "op", json=nonce)
    world.refused("not_found", "GET", f"/runs/{early}/agreement", "op")
    assert world.ok("GET", f"/runs/{early}/result", "op")["plan"] is None
    interrupted = world.ended("interrupted")
    assert world.ok("GET", f"/runs/{interrupted}/result", "north")["plan"] is not None
    assert world.ok("POST", f"/runs/{interrupted}/resume", "op")["state"] == "submitted"
    world.refused("wrong_state", "POST", f"/runs/{interrupted}/resume", "op")


def test_an_agreement_that_is_drawn_up_keeps_its_keys(world: World) -> None:
    agreed = world.agreed()
    waiting = world.draft(participants={"north": [0, 1], "east": [2, 3]})
    east = world.ok("POST", f"/runs/{waiting}/invite", "op")["invitations"]["east"]
    before = world.ok("GET", f"/runs/{agreed}", "op")
    old = world.keys.pop("north")
    code = world.ok("POST", "/accounts/north/invitation", "op")["invitation"]
    new = Keys.new("north")
    body = joining_body(code, new, "north", world.platform.settings.url)
    world.refused("wrong_state", "POST", "/join", json=body)
    assert world.ok("GET", f"/runs/{agreed}", "op") == before
    world.ok("POST", f"/runs/{agreed}/cancel", "op", json={})
    world.keys["north"] = new
    world.join("north", code, key=True)
    # What waited for somebody else is drawn up with the new key.
    world.join("east", east, key=True)
    drawn = world.call("GET", f"/runs/{waiting}/agreement", "op").text
    assert new.signing_public in drawn
    assert old.signing_public not in drawn


def test_other_rows_are_taken_only_after_the_nodes_refused_the_first(world: World) -> None:
    run_id = world.agreed()
    world.ok("POST", f"/runs/{run_id}/submission", "north", json=world.sealed(run_id, "north"))
    other = world.sealed(run_id, "north")
    world.refused("wrong_state", "POST", f"/runs/{run_id}/submission", "north", json=other)
    from tacit.service.storage import set_submission_state

    with world.platform.database.writing() as session:
        set_submission_state(session, run_id, "north", "refused", reason="out of range")
    mine = world.ok("GET", f"/runs/{run_id}/submission", "north")
    assert (mine[0]["state"], mine[0]["reason"]) == ("refused", "out of range")
    seen = world.ok("GET", f"/runs/{run_id}", "south")
    assert "out of range" not in str(seen)
    assert world.call("POST", f"/runs/{run_id}/submission", "north", json=other).status_code == 201


@pytest.mark.processes
def test_what_is_not_ones_own_cannot_be_submitted(world: World) -> None:
    run_id = world.agreed()
    norths = world.sealed(run_id, "north")
    stolen = world.call("POST", f"/runs/{run_id}/submission", "south", json=norths)
    assert stolen.status_code == 422
    swapped = {**norths, "boxes": norths["boxes"][::-1]}
    world.refused("refused", "POST", f"/runs/{run_id}/submission", "north", json=swapped)
    large = {**norths, "boxes": ["A" * 400_000, *norths["boxes"][1:]]}
    answer = world.call("POST", f"/runs/{run_id}/submission", "north", json=large)
    assert "larger than 2 rows need" in answer.json()["message"]
    run_id = world.invited()
    forged = {"signature": world.signature(run_id, "north")}
    world.refused("refused", "POST", f"/runs/{run_id}/signature", "south", json=forged)


@pytest.mark.parametrize("kind", ["delays", "ap", "tsp"])
def test_a_generated_draft_can_be_posted(world: World, kind: str) -> None:
    names = ["a", "b"]
    terms = world.ok(
        "POST", "/problems/generate", "op", json={"kind": kind, "rows": 20, "participants": names}
    )
    assert list(terms["participants"]) == names
    world.ok("POST", "/runs", "op", json=terms)


def test_an_expired_agreement_cannot_be_signed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = world.invited(limits={"evaluations": 500, "expiry_hours": 1})
    body = {"signature": world.signature(run_id, "north")}
    later = time.time() + 3601
    monkeypatch.setattr("tacit.service.workflow.submitting.time.time", lambda: later)
    assert "has expired" in world.refused(
        "wrong_state", "POST", f"/runs/{run_id}/signature", "north", json=body
    )


def test_no_agreement_is_read_while_others_wait_to_write(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = world.invited()
    threads = []

    def read_and_look(data: bytes) -> Agreement:
        threads.append(threading.current_thread().name.partition("_")[0])
        return read_agreement(data)

    monkeypatch.setattr(submitting, "read_agreement", read_and_look)
    body = {"signature": world.signature(run_id, "north")}
    world.ok("POST", f"/runs/{run_id}/signature", "north", json=body)
    assert threads == ["reader"]


def test_a_signature_under_an_agreement_that_was_just_redrawn_does_not_count(world: World) -> None:
    run_id = world.invited()
    given = bytes.fromhex(world.signature(run_id, "north"))
    database = world.platform.database
    with database.reading() as session:
        digest = submitting.check_signature(session, run_id, "north", given)
    with database.writing() as session:
        set_agreement(session, run_id, b"another", "ab" * 32)
    with pytest.raises(ServiceError, match="as it stands"), database.writing() as session:
        submitting.sign(session, run_id, "north", given, digest=digest)
