"""Lock files fit pyproject.toml, and name hashes and no place to fetch from."""

from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.requirements import Requirement
from release.fit import misfits, wanted
from release.locks import LOCKED, Locked, lock_file, read_lock

SAMPLE = (
    "# made by make lock\n"
    "rich==15.0.0 ; os_name == 'nt' \\\n"
    f"    --hash=sha256:{'0' * 64} \\\n"
    f"    --hash=sha256:{'1' * 64}\n"
    "    # via\n"
    "    #   tacit (pyproject.toml)\n"
    "    #   typer\n"
)


def locked(name: str) -> list[Locked]:
    return read_lock(lock_file(name).read_text())


@pytest.mark.parametrize("name", LOCKED)
def test_everything_that_is_wanted_is_locked(name: str) -> None:
    assert misfits(locked(name), wanted(name)) == []
    text = lock_file(name).read_text()
    assert "://" not in text
    assert "index" not in text.lower()


def test_what_a_lock_file_says() -> None:
    (rich,) = read_lock(SAMPLE)
    hashes = ("0" * 64, "1" * 64)
    assert rich == Locked(
        "rich", "15.0.0", "os_name == 'nt'", hashes, ("tacit (pyproject.toml)", "typer")
    )
    for wrong in ("rich>=15", "rich @ file:///rich.whl", "--index-url x"):
        with pytest.raises(ValueError, match="line 1 locks no version"):
            read_lock(wrong)
    with pytest.raises(ValueError, match="line 2 is not a hash"):
        read_lock("rich==15.0.0 \\\n    --hash=md5:00")


def test_what_does_not_fit_is_named() -> None:
    node = locked("node")
    assert {each.name for each in wanted("node")} >= {"numpy", "msgspec", "cryptography", "pynacl"}
    assert "nicegui" in {each.name for each in wanted("platform")}, "an extra of an extra"
    without = [each for each in node if each.name != "cryptography"]
    assert misfits(without, wanted("node")) == ["cryptography is not locked"]
    old = [replace(each, version="0.1") if each.name == "pynacl" else each for each in node]
    assert misfits(old, wanted("node")) == ["pynacl 0.1 does not satisfy pynacl>=1.5"]
    bare = [replace(each, hashes=()) if each.name == "rich" else each for each in node]
    assert misfits(bare, wanted("node")) == [
        f"rich {each.version} has no hash" for each in node if each.name == "rich"
    ]
    transitive = [each for each in node if each.name != "cffi"]
    assert misfits(transitive, wanted("node")) == ["cffi is needed and not locked"]
    more = [*wanted("node"), Requirement("rich[jupyter]")]
    only = [each for each in node if "rich" not in each.via]
    assert "what rich[jupyter] brings along is not locked" in misfits(only, more)
