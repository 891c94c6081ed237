"""A node's lines for its operator; it goes on where neither log nor standard error takes one."""

from __future__ import annotations

import errno
import io
import logging
import sys
from pathlib import Path

import pytest

from tacit.errors import UnwrittenError
from tacit.node.own_log import LOGGER, AgreementLines, Milestone, OwnLog
from tacit.records.events import BatchBegun, InputsFrozen, LinkLost, Sent
from tacit.records.ledger import DisclosureKind
from tacit.records.node_log import NodeLog
from tacit.records.requests import NO_ATTEMPT, Attempt


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


def test_each_stage_of_an_agreement_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing that is sent or begins again is news, nor what was told before a restart."""
    attempt = Attempt("9:1:1")
    begun = BatchBegun(0, 0, 4, 9, "", attempt, NO_ATTEMPT)
    labels = Sent(DisclosureKind.LABELS, 0, attempt, "", "", "")
    plan = Sent(DisclosureKind.PLAN, 0, attempt, "", "", "")
    other = Sent(DisclosureKind.PLAN, 1, attempt, "", "", "")
    caplog.set_level(logging.INFO, logger=LOGGER)
    lines = AgreementLines(bytes(32), "ab" * 32, [InputsFrozen(0, "", [])])
    for event in (InputsFrozen(0, "", []), begun, begun, labels, plan, plan, other):
        lines.hear(event)
    assert [record.getMessage() for record in caplog.records] == [
        *(Milestone.BEGUN, Milestone.OPENED, Milestone.OPENED)
    ]
