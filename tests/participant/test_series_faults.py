"""A machine that follows a series: costs that cannot be read, plans not stored, and a kill."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tacit.participant.follower as followed
from tacit.errors import InputError
from tacit.participant import CommandCosts, FileCosts, Follower, follow, result
from tacit.participant.series_records import followed_runs, keep_run
from tests.participant.test_series import Cast, cast, platform
from tests.participant.test_series_lies import Fine, finished_run, record_of, withhold
from tests.support.command_line import Tacit

__all__ = ["cast", "platform"]


def agreed_run(cast: Cast) -> str:
    run = cast.run()
    for profile in (cast.north, cast.south):
        cast.follower(profile).look()
    return run


def settled(path: Path) -> Path:
    os.utime(path, (1, 1))
    return path


def test_costs_that_cannot_be_read_end_no_follower(cast: Cast) -> None:
    run = agreed_run(cast)
    folder = cast.folder / "costs"
    (folder / "1.csv").mkdir(parents=True)
    settled(folder / "1.csv")
    follower = cast.follower(costs=FileCosts(folder))
    follower.look()
    assert f"run 1 ({run}): nothing was sealed: [Errno 21] Is a directory" in cast.said[-1]
    (folder / "1.csv").rmdir()
    (folder / "1.csv").write_text("1,2,3,4\n5,6,7,8\n")
    settled(folder / "1.csv")
    follow(follower, every=1, once=True)
    assert "sealed and handed in" in cast.said[-1]


def test_once_ends_with_an_error_where_nothing_was_sealed(cast: Cast, tacit: Tacit) -> None:
    agreed_run(cast)
    file = cast.folder / "costs.csv"
    file.write_text("1,2,3\n")
    settled(file)
    words = ("follow", cast.series_id, "--once", "--no-check", "--profile", cast.north.folder)
    said = tacit(*words, "--costs", file)
    assert (said.code, "nothing was sealed" in said.err) == (2, True), said
    said = tacit(*words, "--command", "'no end")
    assert (said.code, "--command" in said.err, "Traceback" in said.err) == (2, True, False)
    said = tacit(*words)
    assert (said.code, "was given none to seal" in said.out) == (0, True)
    file.write_text("1,2,3,4\n5,6,7,8\n")
    settled(file)
    said = tacit(*words, "--costs", file)  # those of the test before
    assert (said.code, said.err.count("nothing was sealed")) == (2, 1)
    assert tacit(*words, "--costs", file, "--again").code == 0


@pytest.mark.processes
def test_what_a_command_printed_is_not_called_by_a_file_that_is_gone(cast: Cast) -> None:
    agreed_run(cast)
    program = "print('1,2,x,4'); print('5,6,7,8')"
    costs = CommandCosts([sys.executable, "-c", program])
    with pytest.raises(InputError, match=r"what the command for costs printed, .*'x' is not"):
        follow(cast.follower(costs=costs), every=1, once=True)
    assert not any("tacit-costs-" in line for line in cast.said)


def checking(cast: Cast, plans: Path) -> Follower:
    made = cast.follower(results=plans)
    made.check = True
    return made


def test_a_plan_is_stored_although_it_was_seen_before(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between showing and storing it, or `tacit participant result`."""
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    plans = cast.folder / "plans"
    result(cast.north, finished_run(cast))
    checking(cast, plans).look()
    assert (plans / "1.csv").read_text().count("yours") == 2
    # What was stored, and taken away by its reader, is not brought back.
    (plans / "1.csv").unlink()
    checking(cast, plans).look()
    assert not (plans / "1.csv").exists()


def test_a_plan_that_cannot_be_stored_is_no_refusal(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    run = finished_run(cast)
    plans = cast.folder / "plans"
    plans.write_text("a file where the folder should be")
    follower = checking(cast, plans)
    with pytest.raises(InputError, match=r"its plan was not stored: .*cannot be written"):
        follow(follower, every=1, once=True)
    assert follower.refused == {}
    plans.unlink()
    follower.progress[run].retry_now()
    follow(follower, every=1, once=True)
    assert (plans / "1.csv").exists()


@pytest.mark.parametrize("check", [True, False])
def test_a_plan_that_could_not_be_stored_is_stored_by_the_next_process(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, check: bool
) -> None:
    """As with cron, while the folder is away and when it is back."""
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    finished_run(cast)
    plans = cast.folder / "plans"

    def once() -> None:
        follower = checking(cast, plans)
        follower.check = check
        follow(follower, every=1, once=True)

    plans.write_text("a file where the folder should be")
    for _ in range(2):
        with pytest.raises(InputError, match="its plan was not stored"):
            once()
    plans.unlink()
    once()
    assert (plans / "1.csv").read_text().count("yours") == 2
    assert sum("is finished" in line for line in cast.said) == 1
    (plans / "1.csv").unlink()
    once()
    assert not (plans / "1.csv").exists()


def test_a_plan_is_stored_after_a_kill_also_without_a_check(cast: Cast) -> None:
    result(cast.north, finished_run(cast))  # and killed before it was stored
    cast.follower(results=cast.folder / "plans").look()
    assert (cast.folder / "plans" / "1.csv").exists()


def test_a_plan_is_stored_although_its_run_was_called_failed_before(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "check_logs", withhold)
    run, plans = finished_run(cast), cast.folder / "plans"
    monkeypatch.setattr(followed, "store_plan", lambda *_: False)  # as if there were no plan
    checking(cast, plans).look()
    monkeypatch.undo()
    assert not record_of(cast, run).stored
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    checking(cast, plans).look()
    assert (plans / "1.csv").exists()


def test_a_run_without_a_plan_is_said_once(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
    run = agreed_run(cast)
    cast.cancel(run)
    for _ in range(3):  # a new process each time, as with cron
        checking(cast, cast.folder / "plans").look()
    assert sum("is cancelled" in line for line in cast.said) == 1


def test_two_followers_at_a_time_forget_no_run_that_was_checked(cast: Cast) -> None:
    agreement = cast.north.need_signed_agreement(agreed_run(cast))
    runs = [f"r-{number:010}" for number in range(60)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda run: keep_run(cast.north, run, agreement, checked=True), runs))
    found = followed_runs(cast.north, cast.series_id)
    assert sorted(each.run for each in found if each.checked) == runs


def test_balances_of_a_series_that_has_none_are_not_shown_as_empty(
    cast: Cast, tacit: Tacit
) -> None:
    for name, why in ((cast.series_id, "keeps no balances"), ("s-aaaaaaaaaa", "has not signed")):
        said = tacit("balance", name, "--profile", cast.north.folder)
        assert (said.code, why in said.err) == (2, True), said
