"""The dashboard on a real server in this process, with nothing but nodes missing.

Once for all tests, since NiceGUI has one app per process. It believes who says to be a proxy, so
each test comes from addresses of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser

from tacit.service.dashboard import mount
from tacit.service.server.app import make_app
from tests.service.dashboard.browser import chromium
from tests.service.stand_in import StandIn
from tests.service.world import World
from tests.support.platform import generous, listening
from tests.support.processes import starts_processes

PER_MINUTE = 30
"""Of an address without a session."""


@pytest.fixture(scope="module")
@starts_processes
def browser() -> Iterator[Browser]:
    """One for all tests of a file, and no longer: nothing else may run an event loop meanwhile."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def dashboard(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    settings = generous(tmp_path_factory.mktemp("dashboard") / "platform", cluster)
    settings = replace(
        settings,
        url=f"http://{settings.listen}",
        tls_certificate=None,
        tls_key=None,
        behind_proxy=True,
        anonymous_requests_per_minute=PER_MINUTE,
    )
    app = make_app(settings, execution=StandIn)
    mount(app, settings)
    with listening(settings, app):
        world = World(None, app, url=settings.url)
        for name, role in (("op", "operator"), ("eye", "viewer"), ("outsider", "participant")):
            world.add(name, role)
        yield world
