"""The platform as a server: API, dashboard and execution in one process."""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from importlib.util import find_spec
from pathlib import Path

import uvicorn
from fastapi import FastAPI

from tacit.files import check_secret
from tacit.identity import expires, expiry_warnings, parse_address, read_certificate
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

CERTIFICATE_TICKS = 300
"""How often the server looks for a new certificate, in tenths of a second."""
GRACE_SECONDS = 5
"""How long open requests may take to end when the server stops."""

log = logging.getLogger("tacit.service")


class _Server(uvicorn.Server):
    """Lets those who watch event streams go first, since they would never end by themselves."""

    def __init__(self, config: uvicorn.Config, platform: Platform) -> None:
        super().__init__(config)
        self._platform = platform
        self._certificate_stamp = self._stamp()

    def _stamp(self) -> tuple[int, ...]:
        files = [self.config.ssl_certfile, self.config.ssl_keyfile]
        there = [Path(each) for each in files if each is not None and Path(each).exists()]
        return tuple(each.stat().st_mtime_ns for each in there)

    async def on_tick(self, counter: int) -> bool:
        """Besides what a server does ten times a second, look for a new certificate."""
        if counter % CERTIFICATE_TICKS == 0 and self.config.ssl is not None:
            self.use_new_certificate(self.config.ssl)
        if counter == 0 and self.config.ssl_certfile is not None:  # at the start, then once a day
            self.warn_of_expiry(Path(self.config.ssl_certfile))
        return await super().on_tick(counter)

    def warn_of_expiry(self, certificate: Path) -> None:
        """Say so if the certificate that browsers see expires soon."""
        when = {"the platform's website": expires(read_certificate(certificate))}
        for warning in expiry_warnings(when, time.time()).values():
            log.warning(warning)

    def use_new_certificate(self, context: ssl.SSLContext) -> None:
        """New connections see the certificate that is in the file now."""
        try:
            stamp = self._stamp()
            if stamp != self._certificate_stamp:
                files = str(self.config.ssl_certfile), self.config.ssl_keyfile
                # Elsewhere first: half of a pair would spoil the context.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
                context.load_cert_chain(*files)
                self._certificate_stamp = stamp
        except OSError:
            return  # somebody is just replacing it and its key

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
