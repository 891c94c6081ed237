"""An earlier version of tacit, from this repository's history, in an environment of its own.

It is made once and kept in build/earlier, from the lock file of that version.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "earlier"
_DONE = "complete"
_COMPILE = """
from tacit.service.execution.preloaded import warm_up_all
warm_up_all()
"""
"""Its search kernels, which it would otherwise compile while runs wait."""


def commit_of(revision: str) -> str | None:
    """The full name of a revision, if the history has it."""
    words = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or None


def earlier_tacit(commit: str) -> list[str]:
    """How to call `tacit` of this commit."""
    folder = FOLDER / commit[:12]
    if not (folder / _DONE).exists():
        shutil.rmtree(folder, ignore_errors=True)
        _install(commit, folder)
        (folder / _DONE).touch()
    # Whatever the environment says of paths is meant for this version, not for that one.
    return [str(folder / "env" / "bin" / "python"), "-E", "-P", "-m", "tacit"]


def _install(commit: str, folder: Path) -> None:
    source, python = folder / "source", str(folder / "env" / "bin" / "python")
    source.mkdir(parents=True)
    packed = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", source], input=packed.stdout, check=True)
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    locks = source / "deploy" / "lock"
    # As docs/deploy.md says: what the lock file names, and the wheel without anything else.
    subprocess.run([*pip, "--require-hashes", "-r", locks / "platform.txt"], check=True)
    subprocess.run([*pip, "--require-hashes", "-r", locks / "build.txt"], check=True)
    subprocess.run([*pip, "--no-index", "--no-deps", "--no-build-isolation", source], check=True)
    subprocess.run([python, "-E", "-P", "-c", _COMPILE], check=True)
