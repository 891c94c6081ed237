"""Clocks for tests of drivers, in place of `time.monotonic`."""

from __future__ import annotations

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
    """Have drivers count only the time in which this process had a core.

    On an idle machine that is the time of a search that waits for nobody.
    """
    monkeypatch.setattr(time, "monotonic", time.process_time)
