"""A worker's last report, where it could not go on."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from tacit.errors import EngineError, FileError, RefusedError
from tacit.records.messages import RefusalKind
from tacit.service.execution import worker as working
from tacit.service.execution.report import Report, RunRequest, decode_said
from tacit.service.execution.worker import Worker, work


def last_report(error: Exception, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    def broken(_: Worker) -> None:
        raise error

    monkeypatch.setattr(working, "_end_with_the_platform", lambda: None)
    monkeypatch.setattr(Worker, "_listen", lambda _: None)
    monkeypatch.setattr(Worker, "run", broken)
    here, there = socket.socketpair()
    with there:
        work(here, RunRequest("r-1", str(folder), "cluster.toml", b"", {}, {}))
        data = b""
        while part := there.recv(1 << 16):
            data += part
    said = decode_said(data[4:])
    assert isinstance(said, Report)
    return said


@pytest.mark.parametrize(
    ("error", "can_retry"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (FileError("ledger.jsonl", None, "cannot be written", "make room"), True),
        (RefusedError("node 1", "0 steps were made", kind=RefusalKind.EARLY), True),
        (RefusedError("node 1", "the agreement has expired"), False),
        (EngineError("the agreement contradicts itself"), False),
        (KeyError("a mistake"), False),
    ],
)
def test_what_may_pass_ends_no_run_for_good(
    error: Exception, *, can_retry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = last_report(error, tmp_path, monkeypatch)
    assert (report.stage, report.can_retry) == ("failed", can_retry)
