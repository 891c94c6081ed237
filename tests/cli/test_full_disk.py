"""A disk that is full at the end of a search costs no plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import FileError
from tacit.records import Ledger
from tests.conftest import RunTacit
from tests.on_nodes.entries import evaluation

FULL = Path("/dev/full")
"""Whatever is written there meets a full disk."""
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")


@pytest.mark.parametrize("options", [["--out"], ["--disclose", "top:2", "--record"]])
def test_a_plan_is_shown_where_its_file_cannot_be_written(
    run_here: RunTacit, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "w.csv").write_text("1,2\n3,9\n")
    done = run_here("solve", tmp_path / "w.csv", "--generations", "2", *options, FULL)
    assert done.returncode == 2
    assert "plan     0 1" in done.stdout
    assert done.stderr == (
        "tacit: /dev/full: cannot be written (No space left on device); choose another place\n"
    )


def test_a_ledger_that_cannot_be_written_names_its_file() -> None:
    ledger = Ledger(FULL)
    with pytest.raises(FileError, match=r"/dev/full: cannot be written .*; make room"):
        ledger.add(evaluation(1, [1, 0]))
