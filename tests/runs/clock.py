"""Clocks for tests of drivers, in place of `time.monotonic`."""

from __future__ import annotations

import gc
import time

import pytest


class DrivenClock:
    """A clock that stands still unless the test moves it, however busy the machine is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.begun = 100.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def advance(self, seconds: float) -> None:
        """Let some time go by."""
        self.now += seconds

    @property
    def since(self) -> float:
        """How long it is since the test began."""
        return self.now - self.begun


def count_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have drivers count only the time in which this thread had a core.

    On an idle machine that is the time of a search that waits for nobody. Other threads of a test
    process, such as those of a platform, are not the search's.
    """
    monkeypatch.setattr(time, "monotonic", time.thread_time)


def leave_earlier_objects_out() -> None:
    """Keep what thousands of tests have left from being searched for garbage in a measured run."""
    gc.collect()
    gc.freeze()
