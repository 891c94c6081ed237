"""Runs tests against one mutation, in a temporary copy of the source tree that serves for many.

First the tests that concern it, then all tests and doctests of its room, the quick ones first. A
mutation is killed by a test that fails; one that cannot be imported kills nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.mutants.mutation import ROOT, SOURCES, Mutation

COPIED = ("conftest.py", "pyproject.toml", "docs", "src", "tests")
"""Some tests compare what documents say of protocols with what these do."""
# Rules about the text of sources and documents say nothing of what the code does.
WITHOUT_RULES = ("--ignore=tests/mpc/test_house.py", "--ignore-glob=*document.py")
QUICK = ("-m", "not slow and not processes")
REST = ("-m", "slow or processes")
SECONDS = 900.0
"""How long one run of tests may take."""

Outcome = Literal["killed", "survived", "equivalent", "broken", "too slow"]
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?::.+?)(?: - |$)", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """What became of a mutation."""

    name: str
    outcome: Outcome
    by: str
    """The test that noticed it, or what went wrong."""
    seconds: float

    @property
    def fine(self) -> bool:
        """Whether it is killed, or is known to change nothing."""
        return self.outcome in ("killed", "equivalent")


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of sources and tests."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as directory:
        copy = Path(directory)
        for name in COPIED:
            source, target = ROOT / name, copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                # With their times, so that what was compiled of unchanged files stays valid.
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)
        yield copy


@contextmanager
def changed_tree(copy: Path, changes: Mapping[Path, str]) -> Iterator[None]:
    """The copy with these files changed, and as it was afterwards."""
    try:
        for path, text in changes.items():
            (copy / path).write_text(text)
        yield
    finally:
        for path in changes:
            shutil.copy2(ROOT / path, copy / path)


def run_tests(copy: Path, arguments: Sequence[str], *, seconds: float = SECONDS) -> tuple[int, str]:
    """Pytest's exit status and output, ended after this many seconds with the status -1."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=no"]
    environment = os.environ | {
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    with subprocess.Popen(
        [*command, *arguments],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return -1, ""
    return process.returncode, output


def tests_of(room: str, /) -> tuple[str, ...]:
    """The tests of a room; balances are computed by protocols of their own."""
    rooms = ("mpc", "equity") if room in ("mpc", "equity") else (room,)
    folders = [folder for each in rooms for folder in (f"tests/{each}", str(SOURCES / each))]
    return (*folders, *WITHOUT_RULES)


def try_mutation(mutation: Mutation, copy: Path, *, quick: bool = False) -> Result:
    """Run the tests of a mutation, then those of its room unless `quick`, until one fails."""
    began = time.monotonic()

    def result(outcome: Outcome, by: str) -> Result:
        return Result(mutation.name, outcome, by, time.monotonic() - began)

    if mutation.equivalent:
        return result("equivalent", mutation.equivalent)
    stages = [mutation.tests] if mutation.tests else []
    if not quick:
        everything = tests_of(mutation.room)
        stages += [(*everything, *QUICK), (*everything, *REST)]
    with changed_tree(copy, mutation.changed(ROOT)):
        for arguments in stages:
            status, output = run_tests(copy, arguments)
            # What cannot be imported fails without the name of a test.
            found = _FAILED.search(output)
            if status == 1 and found:
                return result("killed", found.group(1))
            if status == -1:
                return result("too slow", f"no answer of {' '.join(arguments)}")
            if status != 0:
                return result("broken", f"pytest ended with {status}: {output[-300:]}")
    return result("survived", "")
