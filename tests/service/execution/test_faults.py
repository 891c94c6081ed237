"""A few of the random faults of `make faults`, on the platform and the nodes that run here."""

from __future__ import annotations

import pytest
from studies.benchmarks.live_platform import LivePlatform

from tests.faults.arena import arena_of
from tests.faults.faults import WITHOUT_ROOT
from tests.faults.harness import Harness

pytestmark = pytest.mark.processes

SEEDS = (126, 15, 143)


def test_nothing_is_lost_late_or_wrong_after_a_few_faults(live: LivePlatform) -> None:
    harness = Harness(
        arena_of(live),
        WITHOUT_ROOT,
        at_a_time=1,
        deadlines=(1.5, 1.5),
        run_kinds=("top:15", "sealed"),
    )
    episodes = [harness.episode(seed) for seed in SEEDS]
    assert [each.violations for each in episodes] == [[]] * len(SEEDS), episodes
