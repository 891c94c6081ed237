"""A failed test shows the logs of its nodes and the state of the machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.support.failure_report import failure_report


def test_logs_of_temporary_folders_and_of_the_test_are_shown(tmp_path: Path) -> None:
    (tmp_path / "platform.log").write_text("the platform listens\n")
    with tempfile.TemporaryDirectory() as folder:
        nodes = Path(folder) / "node-1.data"
        nodes.mkdir()
        (nodes / "log.jsonl").write_text('{"event":"started"}\n')
        report = failure_report([tmp_path])
    assert "the platform listens" in report
    assert '{"event":"started"}' in report
    assert "load " in report


def test_logs_that_go_with_the_failure_are_kept() -> None:
    def fails_among_nodes() -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "node-0.err").write_text("no more memory\n")
            raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        fails_among_nodes()
    assert "no more memory" in failure_report()


def test_logs_of_what_ended_well_are_not_shown() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "node-0.err").write_text("stopped as asked\n")
    assert "stopped as asked" not in failure_report()
