"""A platform with real keys, a real database and no nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tacit.identity.cluster import write_cluster
from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tests.service.postgres import postgres
from tests.service.stand_in import StandIn
from tests.service.world import MakeWorld, World, opened
from tests.support.platform import generous
from tests.support.processes import starts_processes


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    return write_cluster(folder, [f"127.0.0.1:{9100 + i}" for i in range(3)])[-1]


@pytest.fixture(scope="session")
@starts_processes
def postgres_server() -> Iterator[str]:
    with postgres() as url:
        yield url


@pytest.fixture
def settings(cluster: Path, tmp_path: Path) -> Settings:
    return generous(tmp_path / "platform", cluster)


@pytest.fixture(scope="module")
def module_settings(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return generous(tmp_path_factory.mktemp("module") / "platform", cluster)


@pytest.fixture
def make_world(settings: Settings) -> Iterator[MakeWorld]:
    with ExitStack() as stack:

        def make(**changes: Any) -> World:
            app = make_app(replace(settings, **changes), execution=StandIn)
            return stack.enter_context(opened(app))

        yield make


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """With an operator, a viewer, and an outsider who takes part in nothing."""
    made = make_world()
    made.add("op", "operator")
    made.add("eye", "viewer")
    made.add("outsider", "participant")
    return made
