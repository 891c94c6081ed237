"""The app behind its real web server with TLS, in a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from tacit.service.server.app import make_app
from tacit.service.server.connections import ImpatientLoop
from tacit.service.server.serve import make_server
from tacit.service.server.settings import Settings
from tests.service.stand_in import StandIn
from tests.service.world import World, free_port


@contextmanager
def served(settings: Settings, **changes: Any) -> Iterator[World]:
    """A platform at a free port."""
    port = free_port()
    here = {"listen": f"127.0.0.1:{port}", "url": f"https://127.0.0.1:{port}"}
    settings = replace(settings, **here, **changes)
    app = make_app(settings, execution=StandIn)
    server = make_server(settings, app)

    def serve() -> None:
        with asyncio.Runner(loop_factory=ImpatientLoop) as runner:
            runner.run(server.serve())

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        until = time.monotonic() + 20
        while not server.started and time.monotonic() < until and thread.is_alive():
            time.sleep(0.01)
        assert server.started
        yield World(None, app, url=settings.url)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
