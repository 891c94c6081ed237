"""These tests take minutes, root and programs of Debian: each has a target of its own in make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.figures import Figures

_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker("deployment")
            item.add_marker("processes")


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[Figures]:
    """What a test measures, which is shown and kept in out/deployment."""
    kept = Figures(request.node.name)
    yield kept
    kept.write()
