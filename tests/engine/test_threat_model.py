"""The table of attacks names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
NAMED = r"`(tests/[\w/]+/)?(test_\w+\.py)?(?:::(test_\w+))?`"
TABLE = (HERE.parents[1] / "docs" / "threat-model.md").read_text()


def test_every_named_test_exists() -> None:
    named = 0
    for line in TABLE.splitlines():
        file = None
        for folder, path, name in re.findall(NAMED, line):
            if path:
                file = (HERE.parents[1] / folder if folder else HERE) / path
            if file is None:
                continue
            assert file.exists(), file
            assert not name or f"def {name}(" in file.read_text(), f"{file}::{name}"
            named += 1
    assert named > 40
