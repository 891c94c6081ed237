"""A torn ledger goes on, boxes for owners are kept beside it, and damaged files are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import FileError, LogError
from tacit.records import (
    FileLedger,
    load_ledger,
    read_ledger,
)
from tacit.records.ledger import PlanParts
from tests.on_nodes.entries import evaluation
from tests.on_nodes.owners_cast import owners_cast


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


def test_what_a_node_released_before_is_kept_when_it_is_away(tmp_path: Path) -> None:
    first, second, third = owners_cast().sealed()
    kept = PlanParts(tmp_path)
    assert kept.of(0) is None
    kept.keep(0, [first, second, None])
    # A platform that was killed then asks again, and hears of others.
    PlanParts(tmp_path).keep(0, [None, second, third])
    assert PlanParts(tmp_path).of(0) == [first, second, third]
    assert PlanParts(tmp_path).of(1) is None
    in_memory = PlanParts()
    in_memory.keep(1, [first, None, None])
    assert in_memory.of(1) == [first, None, None]


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "parts-0.msgpack").write_bytes(b"\xc1")
    with pytest.raises(FileError, match="holds no boxes"):
        PlanParts(tmp_path).of(0)
