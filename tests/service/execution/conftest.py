"""One platform with its workers and three nodes, all real processes, for this folder's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.live_platform import LivePlatform

from tests.support.processes import starts_processes


@pytest.fixture(scope="package")
@starts_processes
def live() -> Iterator[LivePlatform]:
    """Whoever kills a part of it starts it again."""
    with LivePlatform(slots=2) as running:
        yield running
