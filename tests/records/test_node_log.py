from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from tacit.errors import LogError, UnwrittenError
from tacit.records import events, node_log
from tacit.records.events import (
    AnyEvent,
    EpochBegun,
    LinkEvent,
    LogEvent,
    NodeEvent,
    ReportEvent,
    RequestRefused,
    Sent,
    StateEvent,
)
from tacit.records.ledger import DisclosureKind
from tacit.records.log import FIRST, LONGEST_LINE, verify_log
from tacit.records.node_log import KEPT_LINES, NodeLog
from tacit.records.requests import Attempt


@pytest.fixture
def log(tmp_path: Path) -> NodeLog:
    made = NodeLog(tmp_path / "log.jsonl")
    for number in range(1, 6):
        made.append(EpochBegun(number))
    return made


def test_an_untouched_log_is_unbroken(log: NodeLog) -> None:
    found = verify_log(log.path.read_bytes())
    assert [event.number for event in found if isinstance(event, EpochBegun)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("line", range(4))
def test_a_changed_line_is_found(log: NodeLog, line: int) -> None:
    lines = log.path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"number":', b'"number":1')
    with pytest.raises(LogError, match=f"line {line + 2} does not follow"):
        verify_log(b"".join(lines))


def test_reordered_and_missing_lines_are_found(log: NodeLog) -> None:
    lines = log.path.read_bytes().splitlines(keepends=True)
    with pytest.raises(LogError, match="line 2 does not follow"):
        verify_log(b"".join([lines[0], lines[2], lines[1], *lines[3:]]))
    with pytest.raises(LogError, match="line 3 does not follow"):
        verify_log(b"".join([*lines[:2], *lines[3:]]))
    with pytest.raises(LogError, match="line 1 does not follow"):
        verify_log(b"".join(lines[1:]))


def test_a_cut_line_is_found_and_dropped_by_the_node(log: NodeLog) -> None:
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + b'{"event":"eval')
    with pytest.raises(LogError, match="cut off"):
        verify_log(log.path.read_bytes())
    again = NodeLog(log.path)
    assert log.path.read_bytes() == whole
    again.append(EpochBegun(6))
    assert len(verify_log(log.path.read_bytes())) == 6


def test_something_else_is_no_log() -> None:
    with pytest.raises(LogError, match="not an event"):
        verify_log(b"hello\n")


def writes_half(file: int, data: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
    return write(file, data[: len(data) // 2])


def writes_nothing(file: int, data: bytes) -> int:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("broken", [writes_half, writes_nothing])
def test_a_line_that_does_not_fit_is_taken_back(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch, broken: Callable[[int, bytes], int]
) -> None:
    whole, head = log.path.read_bytes(), log.head
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", broken)
        with pytest.raises(LogError, match="cannot be written"):
            log.append(EpochBegun(6))
    assert (log.path.read_bytes(), log.head) == (whole, head)
    log.append(EpochBegun(6))
    assert len(verify_log(log.path.read_bytes())) == 6


def test_a_line_that_cannot_be_taken_back_ends_the_log(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", writes_half)
        patch.setattr(os, "truncate", writes_nothing)
        with pytest.raises(LogError, match="cannot be written"):
            log.append(EpochBegun(6))
    with pytest.raises(LogError, match="half a line"):
        log.append(EpochBegun(7))
    # Who starts again finds the chain as it was.
    assert NodeLog(log.path).lines == 5


class Disk:
    """The disk below a file, which a sync brings up to date; one that fails forgets what was due.

    Systems do that: after the error, what was written counts as clean.
    """

    def __init__(self, path: Path, patch: pytest.MonkeyPatch) -> None:
        self.path, self.data = path, bytearray(path.read_bytes())
        self.failing = 0
        """So many syncs fail from now on."""
        self._due: list[tuple[int, bytes]] = []
        write, pwrite = os.write, os.pwrite

        def appended(file: int, data: bytes) -> int:
            self._due.append((os.fstat(file).st_size, data))
            return write(file, data)

        def written(file: int, data: bytes, at: int) -> int:
            self._due.append((at, data))
            return pwrite(file, data, at)

        patch.setattr(os, "write", appended)
        patch.setattr(os, "pwrite", written)
        patch.setattr(os, "fsync", self._sync)

    def _sync(self, _file: int) -> None:
        due, self._due = self._due, []
        if self.failing:
            self.failing -= 1
            raise OSError(5, "Input/output error")
        for at, data in due:
            self.data += bytes(max(0, at + len(data) - len(self.data)))
            self.data[at : at + len(data)] = data

    @property
    def has_all(self) -> bool:
        return bytes(self.data) == self.path.read_bytes()


def test_what_a_failed_sync_has_lost_is_written_once_more(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.sync()
    disk = Disk(log.path, monkeypatch)
    for number in (6, 7):
        log.append(EpochBegun(number))
        disk.failing = 1
        with pytest.raises(UnwrittenError, match="cannot be synced"):
            log.sync()
        assert not log.is_synced
    log.append(EpochBegun(8))
    log.sync()
    assert log.is_synced
    assert disk.has_all
    assert len(verify_log(log.path.read_bytes())) == 8


def test_a_start_after_a_failed_sync_writes_what_it_read_once_more(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.sync()
    disk = Disk(log.path, monkeypatch)
    log.append(EpochBegun(6))
    disk.failing = 1
    with pytest.raises(UnwrittenError):
        log.sync()
    assert not disk.has_all
    again = NodeLog(log.path)
    again.sync()
    assert disk.has_all


def test_lines_that_are_lost_for_good_are_never_called_synced(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.sync()
    disk = Disk(log.path, monkeypatch)
    log.append(EpochBegun(6))
    disk.failing = 1
    with pytest.raises(UnwrittenError):
        log.sync()
    # The system needs the memory, and reads the file from the disk from now on.
    log.path.write_bytes(disk.data.ljust(log.size, b"\0"))
    for _ in range(2):
        with pytest.raises(UnwrittenError, match="lost"):
            log.sync()
    assert not log.is_synced


def test_a_checkpoint_covers_what_is_on_the_disk(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = Disk(log.path, monkeypatch)
    monkeypatch.setattr(node_log, "CHECKPOINT_BYTES", 1)
    disk.failing = 1
    log.append(EpochBegun(6))
    assert not log.path.with_suffix(".checkpoint").exists()
    log.append(EpochBegun(7))
    assert log.path.with_suffix(".checkpoint").exists()
    assert disk.has_all


def test_a_log_that_is_away_for_a_while_goes_on_when_it_is_back(log: NodeLog) -> None:
    away = log.path.rename(log.path.with_name("away"))
    with pytest.raises(LogError, match="cannot be written"):
        log.append(EpochBegun(6))
    away.rename(log.path)
    log.append(EpochBegun(6))
    assert len(verify_log(log.path.read_bytes())) == 6


def test_a_node_may_keep_more_logs_than_it_may_have_files_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    logs = [NodeLog(tmp_path / f"{number}.jsonl") for number in range(5)]
    for log in logs:
        log.append(EpochBegun(1))
        log.sync()
        assert log.page(0)[0]
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_long_log_travels_in_pages(log: NodeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_log, "PAGE_BYTES", 100)
    data, more = b"", True
    while more:
        page, more = log.page(len(data))
        assert 0 < len(page) <= 100
        data += page
    assert data == log.path.read_bytes()
    assert log.page(len(data)) == log.page(1 << 62) == (b"", False)


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    log = NodeLog(path)
    log.append(EpochBegun(1))
    for _ in range(4000):
        log.append(RequestRefused("evaluate", "x" * 2000))
    for number in range(100):
        log.append(EpochBegun(2 + number))
    assert path.stat().st_size > 8 << 20
    for checkpoint in (True, False):
        if not checkpoint:
            path.with_suffix(".checkpoint").unlink()
        tracemalloc.start()
        again = NodeLog(path)
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
        tracemalloc.stop()
        assert (again.head, again.lines) == (log.head, log.lines)
        first, *others = verify_log(path.read_bytes())
        assert again.recent() == [first, *others[-KEPT_LINES:]]


def test_a_start_reads_what_follows_the_checkpoint(
    log: NodeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_log, "CHECKPOINT_BYTES", 1)
    log.append(EpochBegun(6))
    monkeypatch.undo()
    log.append(EpochBegun(7))
    whole = log.path.read_bytes()
    # The beginning is not looked at again, but whoever verifies the log sees it.
    log.path.write_bytes(whole.replace(b'"number":1', b'"number":9', 1))
    assert (NodeLog(log.path).head, NodeLog(log.path).lines) == (log.head, 7)
    with pytest.raises(LogError, match="line 2 does not follow"):
        verify_log(log.path.read_bytes())
    # A checkpoint of another log does not count, nor one that is damaged.
    lines = whole.splitlines(keepends=True)
    log.path.write_bytes(b"".join(lines[:4]))
    assert NodeLog(log.path).lines == 4
    changed = b"".join(lines).replace(b'"number":6', b'"number":9', 1)
    log.path.write_bytes(changed)
    with pytest.raises(LogError, match="line 7 does not follow"):
        NodeLog(log.path)
    log.path.write_bytes(whole)
    log.path.with_suffix(".checkpoint").write_bytes(b"\xffnonsense")
    assert (NodeLog(log.path).head, NodeLog(log.path).lines) == (log.head, 7)


def test_a_line_without_end_is_no_reason_to_read_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"x" * (3 * LONGEST_LINE))
    with pytest.raises(LogError, match="line 1 is cut off"):
        NodeLog(path)


def test_what_was_sent_is_remembered_apart(log: NodeLog) -> None:
    """A node's state follows from its lines: evaluations must not push out that a plan is open."""

    def sent(kind: DisclosureKind, about: int, number: int) -> Sent:
        return Sent(kind, about, Attempt.of(number, 1, 0), "ab", "cd", "ef")

    rare = [
        sent(DisclosureKind.OWNERS_PLAN, 0, 9),
        sent(DisclosureKind.PROVED, 0, 9),
        sent(DisclosureKind.LABELS, 1, 9),
    ]
    for event in (
        *rare,
        *(sent(DisclosureKind.LABELS, 0, number) for number in range(3 * KEPT_LINES)),
    ):
        log.append(event)
    kept = [event for event in NodeLog(log.path).recent() if isinstance(event, Sent)]
    assert [(event.kind, event.about) for event in kept[:3]] == [(e.kind, e.about) for e in rare]
    assert len(kept) == len(rare) + 1 + KEPT_LINES


def test_every_event_either_restores_state_or_does_not() -> None:
    """One in neither list would be written, and stop the node when it starts again."""

    def leaves(kind: type[LogEvent]) -> Iterator[type[LogEvent]]:
        for each in kind.__subclasses__():
            yield from leaves(each)
            if each.__struct_config__.tag and each.__module__ == events.__name__:
                yield each

    listed = [*get_args(StateEvent), *get_args(ReportEvent), *get_args(NodeEvent)]
    assert len(set(listed)) == len(listed)
    assert set(listed) == set(leaves(LogEvent)) - {LinkEvent}
    assert set(get_args(AnyEvent)) == set(listed)


def test_a_line_about_no_known_disclosure_is_none(log: NodeLog) -> None:
    line = node_log._ENCODER.encode(
        Sent(DisclosureKind.LABELS, 0, Attempt("1:1:1"), "", "", "", previous=FIRST)
    )
    assert len(verify_log(line + b"\n")) == 1
    with pytest.raises(LogError, match="line 1 is not an event"):
        verify_log(line.replace(b"labels", b"gossip") + b"\n")
