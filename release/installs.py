"""The wheel in an empty environment for each of its extras: it installs, and does what it is for.

What people run in production is installed from its lock file, as docs/deploy.md says; the other
extras as pip resolves them today. Nothing of the checkout is on the path.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from release.locks import ROOT, lock_file

MOST_MEGABYTES = {"node": 200}
"""How large an installed environment may be, pip included."""
_LONGEST_SECONDS = 1200
_SHORT_SEARCH = ("--engine", "nodes", "--deadline", "5s")


@dataclass(frozen=True)
class Installed:
    """An extra, and the commands that must work where it is installed."""

    extra: str
    commands: tuple[tuple[str, ...], ...]
    lock: str | None = None


INSTALLS = (
    Installed("", (("--help",), ("instance", "new", "ap", "--size", "10x10", "--out", "ap.json"))),
    Installed(
        "node",
        (
            ("--help",),
            ("node", "init", "alpha", "--name", "alpha", "--address", "127.0.0.1:9000"),
            ("keys", "show", "alpha/alpha.public.toml"),
        ),
        lock="node",
    ),
    Installed("participant", (("participant", "keys", "new", "north"),), lock="participant"),
    Installed("postgres", (("demo", "--deadline", "5s"),), lock="platform"),
    Installed(
        "solve",
        (
            ("instance", "new", "ap", "--size", "10x10", "--out", "ap.json"),
            ("solve", "ap.json", *_SHORT_SEARCH),
        ),
    ),
    Installed("service", (("demo", "--deadline", "5s"),)),
)


class NotInstallableError(Exception):
    """Somebody who installs the release would not get what it promises."""


def version_of(init: Path = ROOT / "src" / "tacit" / "__init__.py", /) -> str:
    """The version, which stands in one place; the build reads it from there as well."""
    found = re.search(r'^__version__ = "([^"]+)"$', init.read_text(), flags=re.MULTILINE)
    if found is None:
        raise NotInstallableError(f"{init} has no __version__")
    return found[1]


def try_installs(
    wheel: Path, work: Path, out: Path, /, *, version: str, say: Callable[[str], None]
) -> None:
    """Install the wheel once for each extra, and run what it is for.

    The notices of what was installed from a lock file are written into the folder `out`.
    """
    for each in INSTALLS:
        name = each.extra or "core"
        folder = work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run([sys.executable, "-m", "venv", str(folder / "env")], folder)
        pip = [str(folder / "env" / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        pip += ["--disable-pip-version-check"]
        if each.lock is not None:
            _run([*pip, "--require-hashes", "-r", str(lock_file(each.lock))], folder)
            notices = out / f"tacit-{version}-{each.lock}.notices.txt"
            _run([*pip[:1], str(ROOT / "release" / "notices.py"), str(notices)], folder)
            _run([*pip, "--no-index", "--no-deps", str(wheel)], folder)
        else:
            _run([*pip, f"{wheel}[{each.extra}]" if each.extra else str(wheel)], folder)
        tacit = str(folder / "env" / "bin" / "tacit")
        shown = _run([tacit, "--version"], folder).strip()
        if shown != version:
            raise NotInstallableError(f"{name}: tacit --version says {shown}, not {version}")
        size = megabytes(folder / "env")
        for words in each.commands:
            _run([tacit, *words], folder)
        if size > MOST_MEGABYTES.get(each.extra, size):
            most = MOST_MEGABYTES[each.extra]
            raise NotInstallableError(f"{name}: takes {size} MB, and may take {most}")
        ran = ", ".join(f"tacit {' '.join(words[:2])}" for words in each.commands)
        say(f"{name}: {size} MB{' from its lock file' if each.lock else ''}; {ran}")
        shutil.rmtree(folder)


def megabytes(folder: Path, /) -> int:
    """What the files in a folder take on the disk, in MB."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return round(sum(path.stat().st_blocks * 512 for path in files) / 1e6)


def _run(words: list[str], folder: Path) -> str:
    """Run a command in a folder that is its home, with nothing of ours on the path."""
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH",)}
    done = subprocess.run(
        words,
        cwd=folder,
        env={**kept, "XDG_CONFIG_HOME": str(folder / "config"), "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-1000:]
        raise NotInstallableError(f"{' '.join(words)} failed: {said}")
    return done.stdout
