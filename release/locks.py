"""Lock files: every version with the hashes of its files, for any system and Python we run on.

`python -m release.locks` writes them from pyproject.toml with uv, keeping the versions they have;
`--upgrade` takes the newest. `pip install --require-hashes -r FILE` installs exactly that.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "deploy" / "lock"
LOCKED = {
    "node": ("--extra", "node"),
    "participant": ("--extra", "participant"),
    "platform": ("--extra", "postgres"),
    "build": ("--group", "build"),
    "release": ("--group", "release"),
}
"""What each file is for: an extra, or a group of tools, of pyproject.toml."""
OLDEST_PYTHON = "3.11"
_ENTRY = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)(?: ; (?P<marker>[^\\]*?))?\s*\\?$"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})(?: \\)?$")


@dataclass(frozen=True)
class Locked:
    """One version of a package."""

    name: str
    version: str
    marker: str | None
    """Where this version counts, if not everywhere."""
    hashes: tuple[str, ...]
    via: tuple[str, ...]
    """What needs it."""


def lock_file(name: str, /) -> Path:
    """Where a lock file is."""
    return FOLDER / f"{name}.txt"


def read_lock(text: str, /) -> list[Locked]:
    """The entries of a lock file; a line of any other form is an error."""
    found: list[Locked] = []
    for number, line in enumerate(text.splitlines(), start=1):
        bare = line.strip()
        if not line.startswith(" "):
            if bare and not bare.startswith("#"):
                entry = _ENTRY.fullmatch(bare)
                if entry is None:
                    raise ValueError(f"line {number} locks no version: {bare!r}")
                found.append(Locked(entry["name"], entry["version"], entry["marker"], (), ()))
            continue
        last = found.pop()
        if bare.startswith("#"):
            via = bare.removeprefix("#").strip().removeprefix("via").strip()
            found.append(_with(last, via=(via,) if via else ()))
        else:
            given = _HASH.fullmatch(bare)
            if given is None:
                raise ValueError(f"line {number} is not a hash: {bare!r}")
            found.append(_with(last, hashes=(given[1],)))
    return found


def _with(entry: Locked, *, hashes: tuple[str, ...] = (), via: tuple[str, ...] = ()) -> Locked:
    return Locked(entry.name, entry.version, entry.marker, entry.hashes + hashes, entry.via + via)


def write_locks(*, upgrade: bool) -> None:
    """Resolve all of them anew."""
    for name, (option, what) in LOCKED.items():
        words = ["uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"]
        words += ["--python-version", OLDEST_PYTHON, "--custom-compile-command", "make lock"]
        # No address of an index: whoever installs uses the one of its own choice.
        words += ["--no-emit-index-url", "--no-emit-find-links"]
        words += ["--upgrade"] if upgrade else []
        source = ["pyproject.toml", "--extra", what] if option == "--extra" else [option, what]
        target = str(lock_file(name).relative_to(ROOT))
        subprocess.run([*words, *source, "--output-file", target], cwd=ROOT, check=True)
        print(f"{target}: {len(read_lock(lock_file(name).read_text()))} packages")


if __name__ == "__main__":
    write_locks(upgrade="--upgrade" in sys.argv[1:])
