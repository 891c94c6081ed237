from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tacit.engine.records import node_log
from tacit.engine.records.events import EpochBegun
from tacit.engine.records.node_log import NodeLog, verify_log
from tacit.errors import LogError


@pytest.fixture
def log(tmp_path: Path) -> NodeLog:
    made = NodeLog(tmp_path / "log.jsonl")
    for number in range(1, 6):
        made.append(EpochBegun(number))
    return made


def test_an_untouched_log_is_unbroken(log: NodeLog) -> None:
    events = verify_log(log.path.read_bytes())
    assert [event.number for event in events if isinstance(event, EpochBegun)] == [1, 2, 3, 4, 5]


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
        patch.setattr(os, "ftruncate", writes_nothing)
        with pytest.raises(LogError, match="cannot be written"):
            log.append(EpochBegun(6))
    with pytest.raises(LogError, match="half a line"):
        log.append(EpochBegun(7))
    # Who starts again finds the chain as it was.
    assert len(NodeLog(log.path).events) == 5


def test_a_long_log_travels_in_pages(log: NodeLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_log, "PAGE_BYTES", 100)
    data, more = b"", True
    while more:
        page, more = log.page(len(data))
        assert 0 < len(page) <= 100
        data += page
    assert data == log.path.read_bytes()
    assert log.page(len(data)) == log.page(1 << 62) == (b"", False)
