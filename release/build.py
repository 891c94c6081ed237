"""Wheel and sdist, built twice under different circumstances: a release has the same bytes.

Both builds take the sources of a commit, in folders of different names, with another mask for new
files, another time zone, another language and other times of the files. What must be equal is
the Python that builds (its zlib compresses) and the tools of deploy/lock/build.txt.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

LONG_AGO = 1_000_000_000
"""When the second build's sources say they were written, in seconds since 1970."""


class NotReproducibleError(Exception):
    """Two builds of the same sources differ."""


@dataclass(frozen=True)
class Circumstances:
    """Where and how a build runs; none of it may show in what is built."""

    folder: str
    umask: int
    environment: dict[str, str]
    written: int | None = None


CIRCUMSTANCES = (
    Circumstances("first", 0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8"}),
    Circumstances(
        "second/in/a/deeper/folder", 0o077, {"TZ": "Asia/Tokyo", "LC_ALL": "C"}, LONG_AGO
    ),
)


def build_twice(archive: bytes, work: Path, out: Path, /, *, epoch: int) -> list[Path]:
    """Build the sources of a tar archive twice, compare, and put the files into a folder."""
    built = [_build(archive, work / each.folder, each, epoch) for each in CIRCUMSTANCES]
    compare(*built)
    out.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy(path, out)) for path in built[0]]


def _build(archive: bytes, folder: Path, how: Circumstances, epoch: int) -> list[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    sources, built = folder / "tacit", folder / "built"
    sources.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(sources, filter="data")
    for path in sources.rglob("*"):
        if how.written is not None:
            path.chmod(path.stat().st_mode & ~how.umask)
            os.utime(path, (how.written, how.written))
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(built)],
        cwd=sources,
        env={**os.environ, **how.environment, "SOURCE_DATE_EPOCH": str(epoch)},
        umask=how.umask,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotReproducibleError(f"a build failed: {done.stderr.strip()[-1000:]}")
    return sorted(built.iterdir())


def compare(first: list[Path], second: list[Path], /) -> None:
    """Refuse builds of which a file differs, or that have not the same files."""
    names = [[path.name for path in each] for each in (first, second)]
    if names[0] != names[1]:
        raise NotReproducibleError(f"one build gave {names[0]}, the other {names[1]}")
    pairs = zip(first, second, strict=True)
    differ = [a.name for a, b in pairs if a.read_bytes() != b.read_bytes()]
    if differ:
        raise NotReproducibleError(
            f"two builds differ in {', '.join(differ)}; compare them (diffoscope)"
        )


def committed(root: Path, /) -> tuple[bytes, int]:
    """The sources of the last commit as a tar archive, and when it was made."""
    git = ["git", "-C", str(root)]
    archive = subprocess.run([*git, "archive", "HEAD"], check=True, capture_output=True).stdout
    words = [*git, "log", "-1", "--format=%ct"]
    seconds = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return archive, int(os.environ.get("SOURCE_DATE_EPOCH") or seconds)
