"""The platform as a server: API, dashboard and execution in one process."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

import uvicorn
from fastapi import FastAPI

from tacit.engine.identity import parse_address
from tacit.files import check_secret
from tacit.service.execution.executor import Executor
from tacit.service.server.app import MakeExecution, make_app
from tacit.service.server.connections import (
    MOST_CONNECTIONS,
    ImpatientLoop,
    allow_many_files,
    connection_class,
)
from tacit.service.server.context import Platform
from tacit.service.server.logs import set_up_logs
from tacit.service.server.settings import Settings
from tacit.service.server.single_instance import the_single_instance

GRACE_SECONDS = 5
"""How long open requests may take to end when the server stops."""


class _Server(uvicorn.Server):
    """Lets those who watch event streams go first, since they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, platform: Platform) -> None:
        super().__init__(config)
        self._platform = platform

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        self._platform.announcer.stop()
        await super().shutdown(sockets)  # type: ignore[arg-type]


def make_server(settings: Settings, app: FastAPI, /) -> uvicorn.Server:
    """A server for an app of `make_app`, not yet started."""
    host, port = parse_address(settings.listen)
    certificate = key = None
    if settings.tls_certificate is not None and settings.tls_key is not None:
        certificate, key = (
            settings.place(settings.tls_certificate),
            settings.place(settings.tls_key),
        )
        check_secret(key, remedy="make it with tacit service init")
    config = uvicorn.Config(
        app,
        # Behind a proxy all come from one address, and the proxy has to count them.
        http=connection_class(None if settings.behind_proxy else settings.connections_per_address),
        host=host,
        port=port,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        forwarded_allow_ips="127.0.0.1,::1",
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=MOST_CONNECTIONS,
        ws_max_size=int(settings.request_limit_mb * 1_000_000),
    )
    return _Server(config, app.state.platform)


def serve(settings: Settings, /, *, execution: MakeExecution = Executor) -> None:
    """Serve until Ctrl-C or SIGTERM."""
    set_up_logs()
    # Before the database is touched: a start interrupts what was running.
    with the_single_instance(settings):
        app = make_app(settings, execution=execution)
        if find_spec("tacit.service.dashboard") is not None:
            from tacit.service.dashboard import mount  # type: ignore[import-not-found, unused-ignore]

            mount(app, settings)
        allow_many_files()
        with asyncio.Runner(loop_factory=ImpatientLoop) as runner:
            runner.run(make_server(settings, app).serve())
