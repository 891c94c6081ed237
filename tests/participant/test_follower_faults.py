"""A machine that follows a series: unreadable costs, plans not stored, a kill, a full disk."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import tacit.files
import tacit.participant.follower as followed
import tacit.participant.submission
from tacit.errors import InputError
from tacit.participant import CommandCosts, FileCosts, Follower, follow, result
from tacit.participant import follower as run_states
from tacit.participant.series_records import followed_runs, keep_run
from tests.participant.series_cast import (
    Cast,
    Fine,
    agreed_run,
    fine,
    finished_run,
    record_of,
    settled,
    withhold,
)
from tests.support.command_line import Tacit


def test_costs_that_cannot_be_read_end_no_follower_but_one_that_polls_once(
    cast: Cast, tacit: Tacit
) -> None:
    run = agreed_run(cast)
    folder = cast.folder / "costs"
    (folder / "1.csv").mkdir(parents=True)
    settled(folder / "1.csv")
    follower = cast.follower(costs=FileCosts(folder))
    follower.poll()
    assert f"run 1 ({run}): nothing was sealed: [Errno 21] Is a directory" in cast.said[-1]
    (folder / "1.csv").rmdir()
    (folder / "1.csv").write_text("1,2,3,4\n5,6,7,8\n")
    settled(folder / "1.csv")
    follow(follower, every=1, once=True)
    assert "sealed and handed in" in cast.said[-1]
    cast.world.ok("POST", f"/runs/{run}/cancel", "op")
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
    said = tacit(*words, "--costs", file)  # those of the run before
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


def checking(cast: Cast, plans: Path, *, check: bool = True) -> Follower:
    follower = cast.follower(results=plans)
    follower.check = check
    return follower


@pytest.mark.parametrize("check", [True, False])
def test_a_plan_is_stored_although_it_was_seen_before(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, check: bool
) -> None:
    """As after a kill between showing and storing it, or `tacit participant result`."""
    monkeypatch.setattr(followed, "check_logs", fine)
    plans = cast.folder / "plans"
    result(cast.north, finished_run(cast))
    checking(cast, plans, check=check).poll()
    assert (plans / "1.csv").read_text().count("yours") == 2
    # What was stored, and taken away by its reader, is not brought back.
    (plans / "1.csv").unlink()
    checking(cast, plans, check=check).poll()
    assert not (plans / "1.csv").exists()


def test_a_plan_that_cannot_be_stored_is_no_refusal(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "check_logs", fine)
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
    monkeypatch.setattr(followed, "check_logs", fine)
    finished_run(cast)
    plans = cast.folder / "plans"

    def once() -> None:
        follow(checking(cast, plans, check=check), every=1, once=True)

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


def test_a_plan_is_stored_although_its_run_was_called_failed_before(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "check_logs", withhold)
    run, plans = finished_run(cast), cast.folder / "plans"
    monkeypatch.setattr(followed, "store_plan", lambda *_: False)  # as if there were no plan
    checking(cast, plans).poll()
    monkeypatch.undo()
    assert not record_of(cast, run).stored
    monkeypatch.setattr(followed, "check_logs", fine)
    checking(cast, plans).poll()
    assert (plans / "1.csv").exists()


def test_a_run_without_a_plan_is_said_once(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed, "check_logs", fine)
    run = agreed_run(cast)
    cast.cancel(run)
    for _ in range(3):  # a new process each time, as with cron
        checking(cast, cast.folder / "plans").poll()
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


class Disk:
    """Has no room for files whose names begin so."""

    def __init__(self) -> None:
        self.full_for: str | None = None
        self._replacing = tacit.files.replacing

    @contextmanager
    def replacing(self, path: Path, /, **how: Any) -> Iterator[BinaryIO]:
        if self.full_for is not None and path.name.startswith(self.full_for):
            raise OSError(errno.ENOSPC, "No space left on device")
        with self._replacing(path, **how) as file:
            yield file


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(tacit.files, "replacing", made.replacing)
    return made


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed is tried again at the next look."""
    monkeypatch.setattr(run_states, "AGAIN_SECONDS", 0.0)


def costs_file(cast: Cast, number: int) -> Path:
    """Costs that no other test has sealed."""
    file = cast.folder / "costs.csv"
    file.write_text(f"{number},2,3,4\n5,6,7,{number}\n")
    return settled(file)


def state_of(cast: Cast, run: str) -> str:
    return str(cast.world.ok("GET", f"/runs/{run}", "op")["members"][0]["submission_state"])


@pytest.mark.parametrize("name", ["manifest-", "sealed-"])
@pytest.mark.usefixtures("later")
def test_costs_are_sealed_when_there_is_room_again(cast: Cast, disk: Disk, name: str) -> None:
    run = agreed_run(cast)
    follower = cast.follower(costs=FileCosts(costs_file(cast, 20 + len(name))))
    disk.full_for = name
    for _ in range(2):
        follower.poll()
    (said,) = (line for line in cast.said if "nothing was sealed" in line)
    assert "No space left on device" in said
    assert said.endswith("this is tried again")
    assert state_of(cast, run) == "missing"
    disk.full_for = None
    follow(follower, every=1, once=True)
    assert state_of(cast, run) == "accepted"
    assert follower.undone == []


def test_a_full_disk_is_not_tried_at_every_look(cast: Cast, disk: Disk) -> None:
    run = agreed_run(cast)
    follower = cast.follower(costs=FileCosts(costs_file(cast, 31)))
    disk.full_for = "manifest-"
    follower.poll()
    disk.full_for = None
    follower.poll()
    assert state_of(cast, run) == "missing"


@pytest.mark.processes
@pytest.mark.usefixtures("later")
def test_a_full_disk_is_not_called_what_a_command_printed(cast: Cast, disk: Disk) -> None:
    run = agreed_run(cast)
    program = "print('41,2,3,4'); print('5,6,7,41')"
    follower = cast.follower(costs=CommandCosts([sys.executable, "-c", program]))
    disk.full_for = "manifest-"
    with pytest.raises(InputError, match=r"manifest-0-1\.json: cannot be written"):
        follow(follower, every=1, once=True)
    disk.full_for = None
    follow(follower, every=1, once=True)
    assert state_of(cast, run) == "accepted"


def test_costs_that_were_handed_in_are_not_called_unsealed(
    cast: Cast, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetched(profile: Any, _client: object, run: str) -> int:
        profile.keep(run, "receipts.jsonl", b"{}")
        return 1

    monkeypatch.setattr(tacit.participant.submission, "fetch_receipts", fetched)
    run = agreed_run(cast)
    disk.full_for = "receipts"
    follower = cast.follower(costs=FileCosts(costs_file(cast, 51)))
    with pytest.raises(InputError, match=r"handed in, but its receipts were not kept: .*No space"):
        follow(follower, every=1, once=True)
    assert state_of(cast, run) == "accepted"
    assert not [line for line in cast.said if "nothing was sealed" in line]


@pytest.mark.usefixtures("later")
def test_a_plan_that_was_stored_and_not_marked_is_not_called_lost(
    cast: Cast, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "check_logs", fine)
    finished_run(cast)
    plans, disk.full_for = cast.folder / "plans", "runs.jsonl"
    follower = checking(cast, plans)
    with pytest.raises(InputError, match="its plan was stored, but not marked as stored"):
        follow(follower, every=1, once=True)
    disk.full_for = None
    follow(follower, every=1, once=True)
    (plans / "1.csv").unlink()
    follow(checking(cast, plans), every=1, once=True)
    assert not (plans / "1.csv").exists()


@pytest.mark.usefixtures("later")
def test_logs_that_were_checked_and_not_marked_are_checked_again(
    cast: Cast, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a kill between both; no run is refused for a full disk."""
    checks: list[str] = []

    def check_logs(_profile: object, run: str) -> Fine:
        checks.append(run)
        return Fine()

    monkeypatch.setattr(followed, "check_logs", check_logs)
    run = finished_run(cast)
    follower = cast.follower()
    follower.check, disk.full_for = True, "runs.jsonl"
    with pytest.raises(InputError, match="what its logs show was not kept"):
        follow(follower, every=1, once=True)
    assert follower.refused == {}
    disk.full_for = None
    for _ in range(2):
        follow(follower, every=1, once=True)
    assert checks == [run, run]
