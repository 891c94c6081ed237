"""The boxes of a plan for its owners, as the platform keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import FileError
from tacit.records.ledger import PlanParts
from tests.on_nodes.owners_cast import owners_cast


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
