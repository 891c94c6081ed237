"""A follower whose platform lies about a series, withholds logs or breaks off."""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import tacit.participant.follower as followed
from tacit.agreement import DAY, check_series
from tacit.agreement.series import KEEP_SECONDS
from tacit.errors import (
    AgreementError,
    InternalError,
    LogError,
    PlatformError,
    TrustError,
    UnprovenError,
)
from tacit.participant import FileCosts, Follower, follow, signed_series
from tacit.participant.series_records import (
    FollowedRun,
    folder_of_series,
    followed_runs,
    keep_run,
    keep_series,
    unseen_runs,
)
from tacit.participant.series_review import review_series
from tests.participant.test_series import Cast, cast, platform
from tests.service.example_terms import plain_terms

__all__ = ["cast", "platform"]


def costs_of(cast: Cast) -> FileCosts:
    file = cast.folder / "costs.csv"
    file.write_text("1,2,3,4\n5,6,7,8\n")
    os.utime(file, (1, 1))
    return FileCosts(file)


def followers(cast: Cast, *, check: bool = False) -> list[Follower]:
    made = [cast.follower(each, costs=costs_of(cast)) for each in (cast.north, cast.south)]
    for each in made:
        each.check, each.again = check, True
    return made


class Fine:
    def check(self) -> None:
        """Everything is in order."""


def withhold(*_: object) -> None:
    raise InternalError("the platform failed (500)")


def finished_run(cast: Cast) -> str:
    run = cast.run()
    both = followers(cast)
    for each in [*both, *both]:
        each.look()
    cast.world.run_to(run, "finished")
    return run


def record_of(cast: Cast, run: str) -> FollowedRun:
    (found,) = (each for each in followed_runs(cast.north, cast.series_id) if each.run == run)
    return found


def test_a_run_of_another_signed_series_is_refused(cast: Cast) -> None:
    terms = plain_terms()
    terms["objectives"][0] |= {"disclosure": "order", "best": "value"}
    body = {"name": "other", "run": terms, "runs_per_day": 99}
    other = replace(cast, series_id=cast.world.ok("POST", "/series", "op", json=body)["id"])
    other.sign()
    run = other.run()

    def relabelled(listed: Any) -> Any:
        return [
            {**each, "series": cast.series_id} if each["id"] == run else each for each in listed
        ]

    cast.tamper["runs"] = relabelled
    follower = followers(cast)[0]
    follower.look()
    assert "names none or another one" in follower.refused[run]
    assert not cast.signed(run)


def test_what_logs_contradict_ends_all_signing_also_after_a_restart(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_run(cast)

    def forged(*_: object) -> None:
        raise LogError("the logs contradict each other")

    monkeypatch.setattr(followed, "check_logs", forged)
    with pytest.raises(LogError):
        follow(followers(cast, check=True)[0], every=1, once=True)
    second = cast.run()
    with pytest.raises(TrustError, match=r"contradict what was signed .*remove .*stopped to go on"):
        follow(followers(cast, check=True)[0], every=1, once=True)
    assert not cast.signed(second)


def test_a_run_that_is_called_failed_is_checked_all_the_same(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    finished_run(cast)
    cast.tamper["runs"] = lambda all_: [{**each, "state": "failed"} for each in all_]

    def forged(*_: object) -> None:
        raise LogError("the logs contradict each other")

    with monkeypatch.context() as patch:
        patch.setattr(followed, "check_logs", forged)
        with pytest.raises(LogError):
            follow(followers(cast, check=True)[0], every=1, once=True)


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

    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
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
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    follower.look()
    second = cast.run()
    monkeypatch.setattr(followed, "check_logs", withhold)
    called = then
    follower.progress[run].retry_now()  # a minute later
    follower.look()
    assert run in follower.refused[second]
    assert not cast.signed(second)


def test_an_interrupted_run_that_has_expired_is_checked_for_good(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, late = finished_run(cast), 0.0
    cast.tamper["runs"] = lambda all_: [{**each, "state": "interrupted"} for each in all_]
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    clock = SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + late)
    monkeypatch.setattr(followed, "time", clock)
    followers(cast, check=True)[0].look()
    assert not record_of(cast, run).checked, "it may go on"
    late = KEEP_SECONDS + DAY
    followers(cast, check=True)[0].look()
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
    follower.look()
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
        follower.look()
        assert not cast.signed(second)

    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    follower.look()
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
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    follow(follower, every=1, once=True)


def test_costs_are_handed_in_again_after_a_break(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = cast.run()
    both = followers(cast)
    for each in both:
        each.look()

    def failed(*_: object, **__: object) -> None:
        raise PlatformError("did not answer within 30 s")

    with monkeypatch.context() as patch:
        patch.setattr(followed, "submit", failed)
        both[0].look()
    both[0].look()
    members = cast.world.ok("GET", f"/runs/{run}", "op")["members"]
    assert members[0]["submission_state"] != "missing"


def test_a_run_that_makes_no_sense_ends_nothing(cast: Cast) -> None:
    run = cast.run()
    cast.tamper["agreement"] = lambda _: b"{}"
    follower = followers(cast)[0]
    follower.look()
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
