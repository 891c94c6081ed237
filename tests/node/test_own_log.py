"""A node goes on where neither its log nor standard error takes a line."""

from __future__ import annotations

import errno
import io
import sys
from pathlib import Path

import pytest

from tacit.errors import UnwrittenError
from tacit.node.own_log import OwnLog
from tacit.records.events import LinkLost
from tacit.records.node_log import NodeLog


class FullFile(io.StringIO):
    """A file on a disk without room."""

    asked = False

    def write(self, _text: str, /) -> int:
        self.asked = True
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_line_that_nothing_takes_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> None:
        raise UnwrittenError("no space left on device")

    errors = FullFile()
    monkeypatch.setattr(NodeLog, "append", no_room)
    monkeypatch.setattr(sys, "stderr", errors)
    OwnLog(tmp_path / "log.jsonl", platforms=[]).note(LinkLost("node 1", "closed the link"))
    assert errors.asked
