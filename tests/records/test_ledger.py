"""A ledger that was torn goes on, and what is none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import FileError, LogError
from tacit.records import (
    FileLedger,
    load_ledger,
    read_ledger,
)
from tests.on_nodes.entries import evaluation


def test_half_a_line_is_dropped_and_the_ledger_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"torn')
    entries = [evaluation(number, [1, 0]) for number in (1, 2)]
    for entry in entries:
        ledger = FileLedger(path)
        ledger.add(entry)
        ledger.close()
    assert load_ledger(path) == entries


def test_a_line_that_is_no_entry_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="line 1 is not a ledger entry"):
        read_ledger(b"{}")
    (tmp_path / "x").write_bytes(b"{}")
    with pytest.raises(FileError, match="is not a ledger"):
        load_ledger(tmp_path / "x")
