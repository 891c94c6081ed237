"""The table of attacks names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
TABLE = (HERE.parents[1] / "docs" / "threat-model.md").read_text()


def test_every_named_test_exists() -> None:
    named = 0
    for line in TABLE.splitlines():
        file = ""
        for path, name in re.findall(r"`(test_\w+\.py)?(?:::(test_\w+))?`", line):
            file = path or file
            if not file:
                continue
            assert (HERE / file).exists(), file
            assert not name or f"def {name}(" in (HERE / file).read_text(), f"{file}::{name}"
            named += 1
    assert named > 25
