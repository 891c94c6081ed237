"""A machine follows a series, whatever the platform shows or withholds; no nodes are needed."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace as replace_in
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

import tacit.participant.follower as followed
from tacit.agreement import DAY, Agreement, RunOfSeries, check_series, read_agreement, read_series
from tacit.agreement.series import KEEP_SECONDS
from tacit.audit import told_by_plans
from tacit.errors import (
    AgreementError,
    LogError,
    PlatformError,
    TacitError,
    TrustError,
    UnprovenError,
)
from tacit.participant import (
    CommandCosts,
    FileCosts,
    follow,
    review,
    review_series,
    series_lines,
    signed_series,
)
from tacit.participant.follower import following
from tacit.participant.series_records import (
    folder_of_series,
    keep_run,
    keep_series,
    unseen_runs,
)
from tacit.participant.series_review import told_over_runs
from tacit.problems import generate_assignment
from tests.agreement.made_series import series_like
from tests.on_nodes.owners_cast import owners_cast
from tests.participant.series_cast import (
    Cast,
    fine,
    finished_run,
    followers,
    forged,
    record_of,
    withhold,
)
from tests.service.example_terms import plain_terms
from tests.support.command_line import Tacit


def test_from_the_second_run_on_nobody_types_anything(cast: Cast) -> None:
    costs = cast.folder / "costs"
    costs.mkdir()
    for number in (1, 2):
        lines = [",".join(str(10 * number + row + k) for k in range(4)) for row in range(2)]
        (costs / f"{number}.csv").write_text("\n".join(lines))
        os.utime(costs / f"{number}.csv", (1, 1))
    everybody = [
        cast.follower(each, costs=FileCosts(costs), results=cast.folder / "plans")
        for each in (cast.north, cast.south)
    ]
    for number in (1, 2):
        run = cast.run()
        for follower in [*everybody, *everybody]:  # all sign, then all seal
            follower.poll()
        assert cast.world.ok("GET", f"/runs/{run}", "op")["state"] == "submitted"
        cast.world.run_to(run, "finished")
        for follower in everybody:
            follower.poll()
        assert (cast.folder / "plans" / f"{number}.csv").read_text().startswith("row,column")
    done = [line for line in cast.said if line.startswith("sealed and handed in")]
    assert len(done) == 4


def with_disclosure(run: Agreement) -> Agreement:
    return replace(run, objectives=[replace(run.objectives[0], disclosure="order")])


def with_evaluations(run: Agreement) -> Agreement:
    return replace(run, limits=replace(run.limits, evaluations=501))


def with_another_series(run: Agreement) -> Agreement:
    return replace(run, series=RunOfSeries("ab" * 32, 1))


def with_no_series(run: Agreement) -> Agreement:
    return replace(run, series=None)


def with_node_moved(run: Agreement) -> Agreement:
    return replace(run, nodes=[replace(run.nodes[0], port=1), *run.nodes[1:]])


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (with_disclosure, "its objectives are not those that were signed"),
        (with_evaluations, "it allows 501 evaluations, and 500 were agreed on"),
        (with_another_series, "which this machine has not signed"),
        (with_no_series, "it names none"),
        (with_node_moved, "its nodes, their addresses or keys are not those"),
    ],
)
def test_a_run_outside_the_series_is_refused(
    cast: Cast, lie: Callable[[Agreement], Agreement], said: str
) -> None:
    run = cast.run()
    cast.tamper["agreement"] = lie
    follower = cast.follower()
    follower.poll()
    assert said in follower.refused[run]
    assert cast.signed(run) == []
    assert cast.north.signed_agreement(run) is None
    with pytest.raises(TrustError, match="is not signed"):
        follow(follower, every=1, once=True)
    cast.tamper.clear()
    cast.follower().poll()
    assert cast.signed(run) == ["north"]


def test_by_hand_it_is_refused_just_the_same(cast: Cast) -> None:
    run = cast.run()
    cast.tamper["agreement"] = with_evaluations
    with pytest.raises(TrustError, match="501 evaluations"):
        review(cast.north, run, unpinned=True).check()


def test_a_run_is_not_replayed_and_no_number_used_twice(cast: Cast) -> None:
    first = cast.run()
    follower = cast.follower()
    follower.poll()
    assert cast.signed(first) == ["north"]
    old = cast.world.call("GET", f"/runs/{first}/agreement", "op").content
    cast.cancel(first)
    second = cast.run()
    cast.tamper["agreement"] = lambda _: old
    follower.poll()
    assert "the same run was taken under another name before" in follower.refused[second]

    number = read_agreement(old).series
    cast.tamper["agreement"] = lambda run: replace(run, series=number)
    again = cast.follower()
    again.poll()
    assert "number 1 of the series was used for another run" in again.refused[second]
    assert cast.signed(second) == []


def test_no_more_runs_a_day_than_were_signed_whatever_is_forgotten(cast: Cast) -> None:
    for _ in range(3):
        run = cast.run()
        cast.follower().poll()  # a new process each time
        assert cast.signed(run) == ["north"]
        cast.cancel(run)
    run = cast.run()
    follower = cast.follower()
    follower.poll()
    assert "3 runs of the series were taken in the last 23.5 hours" in follower.refused[run]
    assert cast.signed(run) == []


def test_more_time_than_was_signed_is_refused(cast: Cast) -> None:
    run = cast.run()
    cast.tamper[run] = lambda view: {**view, "terms": {**view["terms"], "deadline_seconds": 6}}
    follower = cast.follower()
    follower.poll()
    assert "the platform gives it 6 s, and 5 s were agreed on" in follower.refused[run]


def test_another_series_under_the_same_name_is_not_signed(cast: Cast) -> None:
    def wider(document: Any) -> Any:
        return {**document, "limits": {**document["limits"], "runs_per_day": 99}}

    cast.tamper["document"] = wider
    made = review_series(cast.north, cast.series_id, unpinned=True)
    with pytest.raises(TrustError, match="the platform has changed it since"):
        made.check()
    # What counts for runs is what was signed here.
    run = cast.run()
    cast.follower().poll()
    assert cast.signed(run) == ["north"]


def test_without_pinned_keys_a_series_is_not_signed(cast: Cast) -> None:
    with pytest.raises(TrustError, match="nobody but the platform says whose keys"):
        review_series(cast.north, cast.series_id).check()


def test_a_series_in_words(cast: Cast) -> None:
    lines = "\n".join(series_lines(review_series(cast.north, cast.series_id, unpinned=True)))
    assert "at most 3 runs a day, in any 23.5 hours" in lines
    assert "2 to 8 rows, 2 to 8 columns" in lines
    assert "at least 2 of 2 participants" in lines
    assert "the mask of a run differs from the pattern's in at most 1 pairs of each row" in lines
    assert "DO NOT SIGN" not in lines


def test_what_the_plans_of_a_series_add_up_to_is_said_before_it_is_signed() -> None:
    """With the number of runs that it allows, and how far their masks may differ."""
    problem = generate_assignment(1, rows=20, columns=40, participants=3)
    pattern = owners_cast(problem=problem, plan_for="everybody").agreement
    rules = {
        name: getattr(pattern.limits, name)
        for name in ("evaluations", "population_min", "population_max", "distinct_min")
    }
    fixed = {"least_rows": 20, "most_rows": 20, "least_columns": 40, "most_columns": 40}
    limits = {**rules, "runs_per_day": 3}

    def said(**varying: Any) -> str:
        series = series_like(pattern, varying={**fixed, **varying}, limits=limits)
        return " ".join(told_over_runs(series, now=series.limits.expires - 33.5 * DAY))

    wide = said(least_allowed=1, most_mask_changes=39)
    assert "102 runs" in wide
    assert f"told it {told_by_plans(102, masks=1.0, sizes=0.0):.2f} of them" in wide
    assert "one plan 0.28" in wide
    assert "plan: owners" in wide
    near = said(least_allowed=20, most_mask_changes=2)
    assert f"told it {told_by_plans(102, masks=0.05, sizes=0.0):.2f} of them" in near
    assert "runs" not in said(parts=[], least_allowed=20, most_mask_changes=0)
    sizes = said(parts=["rows", "columns"], least_rows=10, least_allowed=1, most_mask_changes=0)
    assert f"told it {told_by_plans(102, masks=0.0, sizes=0.5):.2f} of them" in sizes
    pattern = owners_cast(problem=problem).agreement
    assert "told it" not in said(least_allowed=1, most_mask_changes=39)


@pytest.mark.processes
def test_a_command_fills_in_the_costs_that_are_asked_for(cast: Cast) -> None:
    program = "import sys, os\n"
    program += "lines = sys.stdin.read().splitlines()\n"
    program += "print(lines[0])\n"
    program += "for k, line in enumerate(lines[1:]):\n"
    program += "    print(line.split(',')[0], *[7 + k] * 4, sep=',')\n"
    script = cast.folder / "costs.py"
    script.write_text(program)
    run = cast.run()
    followers = [
        cast.follower(each, costs=CommandCosts([sys.executable, str(script)]))
        for each in (cast.north, cast.south)
    ]
    for follower in [*followers, *followers]:
        follower.poll()
    assert cast.world.ok("GET", f"/runs/{run}", "op")["state"] == "submitted", cast.said


def test_costs_that_do_not_fit_are_said_once_and_taken_when_corrected(cast: Cast) -> None:
    file = cast.folder / "costs.csv"
    file.write_text("1,2,3\n")
    os.utime(file, (1, 1))
    run = cast.run()
    for profile in (cast.north, cast.south):
        cast.follower(profile).poll()
    follower = cast.follower(costs=FileCosts(file))
    follower.poll()
    follower.poll()
    assert len([line for line in cast.said if "nothing was sealed" in line]) == 1
    file.write_text("1,2,3,4\n5,6,7,8\n")
    follower.poll()  # it may still be being written
    assert cast.world.ok("GET", f"/runs/{run}", "op")["members"][0]["submission_state"] == "missing"
    os.utime(file, (2, 2))
    follower.poll()
    assert (
        cast.world.ok("GET", f"/runs/{run}", "op")["members"][0]["submission_state"] == "accepted"
    )


def test_one_process_follows_at_a_time(cast: Cast) -> None:
    with (
        following(cast.north, cast.series_id),
        pytest.raises(TacitError, match="another process follows"),
    ):
        follow(cast.follower(), every=1, once=True)


def test_the_command_signs_what_was_shown_and_follows(cast: Cast, tacit: Tacit) -> None:
    shutil.rmtree(cast.north.folder / "series")
    words = ("follow", cast.folder.name, "--unpinned", "--once", "--profile", cast.north.folder)
    said = tacit(*words, "--yes")
    assert (said.code, "nobody has read series" in said.err) == (3, True)
    shown = tacit(*words, "--review")
    assert (shown.code, "What may vary from run to run" in shown.out) == (0, True)
    cast.tamper["document"] = lambda each: {**each, "name": "other"}
    said = tacit(*words, "--yes")
    assert (said.code, "which is the one to sign; nothing was signed" in said.err) == (3, True)
    cast.tamper.clear()
    run = cast.run()
    said = tacit(*words, "--yes")
    assert (said.code, f"signed run 1 ({run})" in said.out) == (0, True)
    listed = tacit("series", "--profile", cast.north.folder)
    assert f"{cast.series_id}  agreed    signed here" in listed.out


def test_a_series_as_it_is_kept_is_what_was_signed(cast: Cast) -> None:
    path = cast.north.folder / "series" / cast.series_id / "series.json"
    assert oct(path.stat().st_mode)[-3:] == "600"
    assert read_series(path.read_bytes()).limits.runs_per_day == 3


def test_a_run_of_another_signed_series_is_refused(cast: Cast) -> None:
    terms = plain_terms()
    terms["objectives"][0] |= {"disclosure": "order", "best": "value"}
    body = {"name": "other", "run": terms, "runs_per_day": 99}
    other = replace_in(cast, series_id=cast.world.ok("POST", "/series", "op", json=body)["id"])
    other.sign()
    run = other.run()

    def relabelled(listed: Any) -> Any:
        return [
            {**each, "series": cast.series_id} if each["id"] == run else each for each in listed
        ]

    cast.tamper["runs"] = relabelled
    follower = followers(cast)[0]
    follower.poll()
    assert "names none or another one" in follower.refused[run]
    assert not cast.signed(run)


@pytest.mark.parametrize("claimed", ["finished", "failed"])
def test_what_logs_contradict_ends_all_signing_also_after_a_restart(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, claimed: str
) -> None:
    """Also where the platform calls the run failed, so that nobody should check it."""
    finished_run(cast)
    cast.tamper["runs"] = lambda all_: [{**each, "state": claimed} for each in all_]
    monkeypatch.setattr(followed, "check_logs", forged)
    with pytest.raises(LogError):
        follow(followers(cast, check=True)[0], every=1, once=True)
    cast.tamper.clear()
    second = cast.run()
    with pytest.raises(TrustError, match=r"contradict what was signed .*remove .*stopped to go on"):
        follow(followers(cast, check=True)[0], every=1, once=True)
    assert not cast.signed(second)


@pytest.mark.parametrize("claimed", ["failed", "running", None])
def test_after_three_runs_whose_logs_are_withheld_nothing_more_is_signed(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, claimed: str | None
) -> None:
    """Called failed, running for ever, or left out of the list: each could have run unseen."""

    monkeypatch.setattr(followed, "check_logs", withhold)
    hidden: list[str] = []

    def lied_of(listed: Any) -> Any:
        if not isinstance(listed, list):
            return listed  # one that was just made
        kept = [each for each in listed if claimed or each["id"] not in hidden]
        return [{**each, "state": claimed} if each["id"] in hidden else each for each in kept]

    cast.tamper["runs"] = lied_of
    for _ in range(2):
        hidden.append(finished_run(cast))
    third = cast.run()
    follower = followers(cast, check=True)[0]
    follower.unseen = 3
    with pytest.raises(UnprovenError) if claimed == "failed" else nullcontext():
        follow(follower, every=1, once=True)
    assert cast.signed(third) == ["north"], "two are put up with"
    fourth = followers(cast, check=True)[0]
    fourth.unseen = 2
    with pytest.raises(TrustError, match="were never shown, and your costs were sealed"):
        follow(fourth, every=1, once=True)
    assert all(run in fourth.refused[third] for run in hidden)

    monkeypatch.setattr(followed, "check_logs", fine)
    cast.tamper.clear()
    again = followers(cast, check=True)[0]
    again.unseen = 1
    follow(again, every=1, once=True)


@pytest.mark.parametrize("then", ["failed", "interrupted", None])
def test_logs_that_were_shown_of_an_interrupted_run_do_not_count_for_what_came_after(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, then: str | None
) -> None:
    run = finished_run(cast)
    called: str | None = "interrupted"

    def lied_of(listed: Any) -> Any:
        if not isinstance(listed, list):
            return listed
        kept = [each for each in listed if called or each["id"] != run]
        return [{**each, "state": called} if each["id"] == run else each for each in kept]

    cast.tamper["runs"] = lied_of
    follower = followers(cast, check=True)[0]
    follower.unseen = 1
    monkeypatch.setattr(followed, "check_logs", fine)
    follower.poll()
    second = cast.run()
    monkeypatch.setattr(followed, "check_logs", withhold)
    called = then
    follower.progress[run].retry_now()  # a minute later
    follower.poll()
    assert run in follower.refused[second]
    assert not cast.signed(second)


def test_an_interrupted_run_that_has_expired_is_checked_for_good(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, late = finished_run(cast), 0.0
    cast.tamper["runs"] = lambda all_: [{**each, "state": "interrupted"} for each in all_]
    monkeypatch.setattr(followed, "check_logs", fine)
    clock = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + late)
    monkeypatch.setattr(followed, "time", clock)
    followers(cast, check=True)[0].poll()
    assert not record_of(cast, run).checked, "it may go on"
    late = KEEP_SECONDS + DAY
    followers(cast, check=True)[0].poll()
    assert record_of(cast, run).checked


def test_runs_whose_logs_are_withheld_count_however_long_ago_they_were(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "check_logs", withhold)
    first = finished_run(cast)
    path = folder_of_series(cast.north, cast.series_id) / "runs.jsonl"
    line = msgspec.json.decode(path.read_bytes())
    line["at"] -= KEEP_SECONDS + 1.0
    path.write_bytes(msgspec.json.encode(line) + b"\n")
    second = finished_run(cast)
    cast.tamper["runs"] = lambda all_: (
        [each for each in all_ if each["id"] not in (first, second)]
        if isinstance(all_, list)
        else all_
    )
    third = cast.run()
    follower = followers(cast, check=True)[0]
    follower.unseen = 2
    follower.poll()
    assert first in follower.refused[third]
    keep_run(cast.north, first, cast.north.need_signed_agreement(first), checked=True)
    assert unseen_runs(cast.north, cast.series_id) == [second]


@pytest.mark.parametrize("withheld", ["result", "check_logs"])
def test_nothing_is_signed_before_the_last_logs_are_checked(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, withheld: str
) -> None:
    finished_run(cast)

    follower = followers(cast, check=True)[0]
    with monkeypatch.context() as patch:
        patch.setattr(followed, withheld, withhold)
        second = cast.run()
        follower.poll()
        assert not cast.signed(second)

    monkeypatch.setattr(followed, "check_logs", fine)
    follower.poll()
    assert cast.signed(second)


def test_a_finished_run_without_logs_ends_with_an_error(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished_run(cast)
    follower = followers(cast, check=True)[0]
    with monkeypatch.context() as patch:
        patch.setattr(followed, "check_logs", withhold)
        with pytest.raises(UnprovenError, match=run):
            follow(follower, every=1, once=True)
    monkeypatch.setattr(followed, "check_logs", fine)
    follow(follower, every=1, once=True)


def test_costs_are_handed_in_again_after_a_break(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = cast.run()
    both = followers(cast)
    for each in both:
        each.poll()

    def failed(*_: object, **__: object) -> None:
        raise PlatformError("did not answer within 30 s")

    with monkeypatch.context() as patch:
        patch.setattr(followed, "submit", failed)
        both[0].poll()
    both[0].poll()
    members = cast.world.ok("GET", f"/runs/{run}", "op")["members"]
    assert members[0]["submission_state"] != "missing"


def test_a_run_that_makes_no_sense_ends_nothing(cast: Cast) -> None:
    run = cast.run()
    cast.tamper["agreement"] = lambda _: b"{}"
    follower = followers(cast)[0]
    follower.poll()
    assert "not a valid agreement" in follower.refused[run]


def test_one_series_is_not_signed_under_two_names(cast: Cast) -> None:
    signed = signed_series(cast.north, cast.series_id)
    assert signed is not None
    keep_series(cast.north, "s-" + "2" * 10, signed)
    reviewed = review_series(cast.north, cast.series_id, unpinned=True)
    assert any("signed this very series as s-2222222222" in why for why in reviewed.refusals)


def test_a_series_has_no_public_objectives(cast: Cast) -> None:
    signed = signed_series(cast.north, cast.series_id)
    assert signed is not None
    objective = msgspec.structs.replace(signed.objectives[0], confidential=False)
    public = msgspec.structs.replace(signed, objectives=[objective])
    with pytest.raises(AgreementError):
        check_series(public)
