"""A clock that a test drives is that of its own thread alone."""

from __future__ import annotations

import threading
import time

import pytest

from tests.runs.clock import DrivenClock


def test_other_threads_keep_their_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    before, elsewhere = time.monotonic(), list[float]()
    clock = DrivenClock(monkeypatch)
    clock.advance(1e9)
    thread = threading.Thread(target=lambda: elsewhere.append(time.monotonic()))
    thread.start()
    thread.join()
    assert time.monotonic() == clock.now
    assert before <= elsewhere[0] < clock.now - 1e8
