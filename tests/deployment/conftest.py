"""These tests take minutes, root and programs of Debian: each has a target of its own in make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deployment.figures import Figures

MARK = "deployment"
_HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out, unless `-m deployment` asks for them."""
    own = [item for item in items if _HERE in item.path.parents]
    for item in own:
        item.add_marker(MARK)
        item.add_marker("processes")
    if MARK not in config.option.markexpr:
        items[:] = [item for item in items if item not in own]
        config.hook.pytest_deselected(items=own)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[Figures]:
    """What a test measures, which is shown and kept in out/deployment."""
    kept = Figures(request.node.name)
    yield kept
    kept.write()
