"""The dashboard on a real server in this process, with nothing but nodes missing.

Once for all tests, since NiceGUI has one app per process. It believes who says to be a proxy, so
each test comes from addresses of its own.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from tacit.service.dashboard import mount
from tacit.service.server.app import make_app
from tacit.service.server.serve import make_server
from tests.service.conftest import generous
from tests.service.stand_in import StandIn
from tests.service.world import World, free_port

PER_MINUTE = 30
"""Of an address without a session."""


@pytest.fixture(scope="session")
def dashboard(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    listen = f"127.0.0.1:{free_port()}"
    settings = replace(
        generous(tmp_path_factory.mktemp("dashboard") / "platform", cluster),
        listen=listen,
        url=f"http://{listen}",
        tls_certificate=None,
        tls_key=None,
        behind_proxy=True,
        anonymous_requests_per_minute=PER_MINUTE,
    )
    app = make_app(settings, execution=StandIn)
    mount(app, settings)
    server = make_server(settings, app)
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    until = time.monotonic() + 30
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    world = World(None, app, url=settings.url)
    for name, role in (("op", "operator"), ("eye", "viewer"), ("outsider", "participant")):
        world.add(name, role)
    yield world
    server.should_exit = True
    thread.join()
