"""The table of attacks names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
NAMED = r"`(tests/[\w/]+/)?(test_\w+\.py)?(?:::(test_\w+))?`"
TABLE = (TESTS.parent / "docs" / "threat-model.md").read_text()


def find_test_file(name: str, test: str) -> Path:
    """Find the test file of this name that has this test, in whichever folder it is."""
    found = sorted(TESTS.rglob(name))
    return next((path for path in found if f"def {test}(" in path.read_text()), found[0])


def test_every_named_test_exists() -> None:
    named = 0
    for line in TABLE.splitlines():
        file = None
        for folder, path, name in re.findall(NAMED, line):
            if path:
                file = TESTS.parent / folder / path if folder else find_test_file(path, name)
            if file is None:
                continue
            assert file.exists(), file
            assert not name or f"def {name}(" in file.read_text(), f"{file}::{name}"
            named += 1
    assert named > 40
