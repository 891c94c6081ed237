"""Three real nodes, shared by the tests that leave them as they were."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.engine.local.cluster import LocalCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster() as running:
        yield running
        running.check_alive()


@pytest.fixture
def own_cluster() -> Iterator[LocalCluster]:
    """A agreed for tests that stop, kill or restart nodes."""
    with LocalCluster() as running:
        yield running
