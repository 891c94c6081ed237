"""Four real nodes, for all tests that need four."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.engine.local.cluster import LocalCluster
from tests.support.mending import mend
from tests.support.processes import starts_processes


@pytest.fixture(scope="session")
@starts_processes
def four_to_mend() -> Iterator[LocalCluster]:
    with LocalCluster(nodes=4, chosen_populations=True) as running:
        yield running


@pytest.fixture
@starts_processes
def four(four_to_mend: LocalCluster) -> Iterator[LocalCluster]:
    """Four nodes, which are mended after a test that has stopped or killed some."""
    yield four_to_mend
    mend(four_to_mend)
