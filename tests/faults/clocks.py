"""Clocks of single processes that jump, by Debian's libfaketime.

A process that is started with `environment` reads its time of day from a file at every look. Its
monotonic clock stays as it is, as on a machine whose time of day is corrected.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_LIBRARIES = "/usr/lib/*/faketime/libfaketimeMT.so.1"
_SLEEP = """\
import select
import time


def sleep(seconds):
    select.select((), (), (), seconds)


time.sleep = sleep
"""
"""libfaketime refuses `clock_nanosleep` on a monotonic clock, which `time.sleep` uses."""


def library() -> Path | None:
    """The library, if it is installed."""
    return next(iter(sorted(Path("/").glob(_LIBRARIES.removeprefix("/")))), None)


class Clock:
    """The time of day of one process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file, self._modules = folder / "offset", folder / "modules"
        self._modules.mkdir(exist_ok=True)
        (self._modules / "sitecustomize.py").write_text(_SLEEP)
        self.jump(0)

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process is started with, so that it looks at this clock."""
        before = os.environ.get("PYTHONPATH")
        return {
            "LD_PRELOAD": str(library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Its correction for monotonic clocks makes threads wait for each other for a second.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "NO_FAKE_STAT": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(self._modules), before))),
        }

    def jump(self, seconds: int) -> None:
        """Put the clock so far ahead of the machine's, or behind it."""
        draft = self._file.with_suffix(".draft")
        draft.write_text(f"{seconds:+d}\n")
        # Replaced as a whole: the process may look at any instant.
        draft.replace(self._file)
