"""A build gives the same bytes, wherever and whenever it runs."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from release.build import NotReproducibleError, build_twice, compare
from release.locks import ROOT

FILES = (
    *("pyproject.toml", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md"),
    "studies/__init__.py",
    *("src/tacit/__init__.py", "src/tacit/py.typed", "src/tacit/problems/data/kroA100.json"),
)


def some_sources() -> bytes:
    """A few of our files: enough to see what comes into a wheel and how."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in FILES:
            tar.add(ROOT / name, name)
    return data.getvalue()


@pytest.mark.processes
def test_two_builds_under_different_circumstances_are_equal(tmp_path: Path) -> None:
    made = build_twice(some_sources(), tmp_path / "work", tmp_path / "out", epoch=1_700_000_000)
    wheel, sdist = made
    assert [each.suffix for each in made] == [".whl", ".gz"]
    with zipfile.ZipFile(wheel) as file:
        assert "tacit/problems/data/kroA100.json" in file.namelist()
        assert not [name for name in file.namelist() if "studies" in name]
        assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in file.namelist()}
        assert {each.date_time for each in file.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    # Another moment is another release: the comparison sees bytes and not names.
    later = build_twice(some_sources(), tmp_path / "work", tmp_path / "later", epoch=1_800_000_000)
    digests = [hashlib.sha256(each.read_bytes()).digest() for each in (wheel, *later)]
    assert digests[0] not in digests[1:]
    with pytest.raises(NotReproducibleError, match=r"differ in .*\.whl, .*\.tar\.gz"):
        compare([wheel, sdist], later)


def test_builds_with_other_files_are_not_equal(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("same")
    with pytest.raises(NotReproducibleError, match="one build gave"):
        compare([tmp_path / "a"], [tmp_path / "b"])
