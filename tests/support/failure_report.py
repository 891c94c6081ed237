"""Adds to the report of a failed test what its nodes and platforms logged, and the machine's state.

Nodes and platforms of tests log into temporary folders, which are removed when a test ends. An
audit hook notes every temporary folder that this process makes, and reads the logs of one that is
removed while an exception is on its way: later they are gone.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

LOG_NAMES = ("*.err", "*.log", "log.jsonl")
MOST_LINES = 25
MOST_FILES = 12

_folders: set[Path] = set()
_rescued: dict[str, str] = {}
"""The last lines of logs that were removed during the running test, by file."""
_began = 0.0


def install_failure_report() -> None:
    """Watch the temporary folders of this interpreter; audit hooks cannot be removed."""
    sys.addaudithook(_watch)


def begin_test() -> None:
    """Forget the logs of the test before."""
    global _began
    _began = time.time()
    _rescued.clear()


def failure_report(more_folders: Iterable[Path] = ()) -> str:
    """Return the machine's state and the last lines of every log that the test wrote to."""
    found = dict(_rescued)
    for folder in (*_folders, *more_folders):
        found |= _last_lines(folder)
    shown = [f"{path}:\n{lines}" for path, lines in sorted(found.items())[:MOST_FILES]]
    if len(found) > MOST_FILES:
        shown.append(f"({len(found) - MOST_FILES} more logs)")
    return "\n\n".join([_machine(), *shown])


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "tempfile.mkdtemp":
        _folders.add(Path(str(arguments[0])))
    elif event == "shutil.rmtree" and (folder := Path(str(arguments[0]))) in _folders:
        _folders.discard(folder)
        if sys.exc_info()[0] is not None:
            _rescued.update(_last_lines(folder))


def _last_lines(folder: Path) -> dict[str, str]:
    found = {}
    try:
        for pattern in LOG_NAMES:
            for path in folder.rglob(pattern):
                status = path.stat()
                if status.st_size and status.st_mtime >= _began:
                    lines = path.read_text(errors="replace").splitlines()
                    found[str(path)] = "\n".join(lines[-MOST_LINES:])
    except OSError:
        # A folder may be removed while it is read; what was read so far is still of use.
        pass
    return found


def _machine() -> str:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    memory = {
        name: int(value.split()[0]) / 2**20
        for name, value in _proc_lines("/proc/meminfo")
        if name in ("MemAvailable", "MemTotal")
    }
    return (
        f"load {load} on {os.cpu_count()} cores; "
        f"{memory.get('MemAvailable', 0):.1f} of {memory.get('MemTotal', 0):.1f} GiB free; "
        f"{shutil.disk_usage('/tmp').free / 2**30:.1f} GiB free on disk; "
        f"{time.time() - _began:.1f} s since the test began"
    )


def _proc_lines(path: str) -> list[tuple[str, str]]:
    try:
        text = Path(path).read_text()
    except OSError:
        return []
    return [(name, value) for name, _, value in (line.partition(":") for line in text.splitlines())]
