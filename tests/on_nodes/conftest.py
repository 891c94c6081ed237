"""Four real nodes for all tests that need four, and three whose clock a test sets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tacit.local.cluster import LocalCluster
from tests.on_nodes.altered_nodes import ClockedCluster
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


@pytest.fixture(scope="session")
@starts_processes
def clocked_to_reset() -> Iterator[ClockedCluster]:
    cluster = ClockedCluster(chosen_populations=True)
    with cluster:
        yield cluster


@pytest.fixture
@starts_processes
def clocked(clocked_to_reset: ClockedCluster) -> Iterator[ClockedCluster]:
    """Three nodes whose clock is right again after the test."""
    yield clocked_to_reset
    clocked_to_reset.set_ahead(0)
