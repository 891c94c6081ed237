"""A ledger that was torn goes on, and lines of the first version are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.engine.records import (
    EvaluationAnswer,
    FileLedger,
    RevealedBest,
    decode_entry,
    load_ledger,
    read_ledger,
)
from tacit.errors import FileError, LogError


def test_half_a_line_is_dropped_and_the_ledger_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b'{"torn')
    entries = [EvaluationAnswer(0, number, "ab", [1, 0], None) for number in (1, 2)]
    for entry in entries:
        ledger = FileLedger(path)
        ledger.add(entry)
        ledger.close()
    assert load_ledger(path, sealed=False) == entries


def test_entries_of_the_first_version_are_read() -> None:
    new = b'{"entry":"best","objective":0,"index":3}'
    assert decode_entry(new, sealed=False) == RevealedBest(0, 3)
    old = b'{"objective":0,"number":7,"request":"ab","disclosed":[1],"best":null}'
    assert decode_entry(old, sealed=False) == EvaluationAnswer(0, 7, "ab", [1], None)


def test_a_line_that_is_no_entry_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="line 1 is not a ledger entry"):
        read_ledger(b"{}", sealed=False)
    (tmp_path / "x").write_bytes(b"{}")
    with pytest.raises(FileError, match="is not a ledger"):
        load_ledger(tmp_path / "x", sealed=False)
