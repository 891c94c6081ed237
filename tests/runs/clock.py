"""Clocks for tests of drivers, in place of `time.monotonic`."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable

import pytest


def set_clock_here(monkeypatch: pytest.MonkeyPatch, clock: Callable[[], float]) -> None:
    """Have `time.monotonic` tell this clock's time in this thread.

    Others keep theirs: the event loop of a platform in another thread would sleep for days after a
    test whose clock was ahead.
    """
    here, real = threading.get_ident(), time.monotonic
    monkeypatch.setattr(
        time, "monotonic", lambda: clock() if threading.get_ident() == here else real()
    )


class DrivenClock:
    """A clock that stands still unless the test moves it, however busy the machine is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.begun = 100.0
        set_clock_here(monkeypatch, lambda: self.now)

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
    set_clock_here(monkeypatch, time.thread_time)


def leave_earlier_objects_out() -> None:
    """Keep what thousands of tests have left from being searched for garbage in a measured run."""
    gc.collect()
    gc.freeze()
