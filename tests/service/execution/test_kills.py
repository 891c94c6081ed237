"""`kill -9` at random moments; studies/benchmarks/platform_kills.py does it twenty times."""

from __future__ import annotations

import time

import pytest
from studies.benchmarks import platform_kills
from studies.benchmarks.live_platform import LivePlatform
from studies.benchmarks.platform_kills import kill_again_and_again

from tests.service.execution.punctual import LATE
from tests.support.cpu_waits import CpuWaits

pytestmark = pytest.mark.processes


def test_nothing_is_lost_and_nothing_hangs_when_processes_die(
    live: LivePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform_kills, "ALLOWED_SECONDS", 300.0)
    with CpuWaits(time.time) as waits:
        rounds = kill_again_and_again(live, 3, seed=3, deadline=1.5)
    assert [each.troubles for each in rounds] == [[]] * 3
    assert [each.end for each in rounds] == ["finished"] * 3
    assert sum(each.lost_submissions for each in rounds) == 0
    assert all(each.interrupted_at_first_answer is not False for each in rounds)
    for each in rounds:
        if each.due is not None and each.late_by is not None:
            waited = waits.between(each.due, each.due + each.late_by)
            assert each.late_by - waited < LATE, each
