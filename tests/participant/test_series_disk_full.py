"""A machine that follows a series, while its disk is full and when there is room again."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import tacit.files
import tacit.participant.follower as followed
import tacit.participant.submission
from tacit.errors import InputError
from tacit.participant import CommandCosts, FileCosts, follow
from tacit.participant import follower as run_states
from tests.participant.test_series import Cast, cast, platform
from tests.participant.test_series_faults import agreed_run, checking, settled
from tests.participant.test_series_lies import Fine, finished_run

__all__ = ["cast", "platform"]


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
        follower.look()
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
    follower.look()
    disk.full_for = None
    follower.look()
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
    monkeypatch.setattr(followed, "check_logs", lambda *_: Fine())
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
