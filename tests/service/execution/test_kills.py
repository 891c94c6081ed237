"""`kill -9` at random moments; benchmarks/platform_kills.py does it twenty times."""

from __future__ import annotations

import pytest
from benchmarks.live_platform import LivePlatform
from benchmarks.platform_kills import kill_again_and_again

pytestmark = pytest.mark.processes


def test_nothing_is_lost_and_nothing_hangs_when_processes_die(live: LivePlatform) -> None:
    rounds = kill_again_and_again(live, 3, seed=3)
    assert [each.troubles for each in rounds] == [[]] * 3
    assert [each.end for each in rounds] == ["finished"] * 3
    assert sum(each.lost_submissions for each in rounds) == 0
    assert all(each.interrupted_at_first_answer is not False for each in rounds)
    assert all(each.late_by is None or each.late_by < 0.5 for each in rounds)
