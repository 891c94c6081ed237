"""The app behind its real web server with TLS, in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from msgspec.structs import replace

from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings
from tests.service.stand_in import StandIn
from tests.service.world import World
from tests.support.platform import listening


@contextmanager
def served(settings: Settings, **changes: Any) -> Iterator[World]:
    """A platform at a free port."""
    settings = replace(settings, **changes)
    app = make_app(settings, execution=StandIn)
    with listening(settings, app):
        yield World(None, app, url=settings.url)
