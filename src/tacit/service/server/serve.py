"""Serve the platform: API, dashboard and execution in one process.

`python -m tacit.service.server.serve service.toml` serves until its standard input ends, which the
operating system takes care of, whatever happens to the process that started it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import socket
import ssl
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from tacit.errors import InputError, TacitError
from tacit.files import check_secret, forbid_core_files
from tacit.identity import expires, expiry_warnings, parse_address, read_certificate
from tacit.service.access.credentials import without_secrets
from tacit.service.api.gate import Platform, network_of
from tacit.service.api.intake import SMALL_BYTES
from tacit.service.execution.api_execution import ApiExecution, MakeWorker
from tacit.service.execution.executor import Executor
from tacit.service.execution.worker_thread import WorkerThread
from tacit.service.server.app import make_app
from tacit.service.server.settings import Settings, load_settings
from tacit.service.server.single_instance import the_single_instance
from tacit.service.storage import Database
from tacit.service.storage.database import SQLITE
from tacit.service.storage.events import Announcer

HEAD_SECONDS = 10.0
"""The longest time for a handshake, and for the head of a request on an open connection."""
GOODBYE_SECONDS = 5.0
MOST_CONNECTIONS = 4000
"""In total; one more is asked to retry later."""
CERTIFICATE_SECONDS = 30.0
"""How often the server looks for a new certificate."""
DAY = 86400.0
GRACE_SECONDS = 5
"""How long open requests may take to end when the server stops."""
WAKING = ("state", "member")
"""The kinds of events after which something may be to be done."""
SWITCH_SECONDS = 0.0005
"""After so long a thread lets another go on."""
log = logging.getLogger("tacit.service")


class JsonLines(logging.Formatter):
    """A record as one line of JSON; `extra={"fields": {...}}` adds fields.

    >>> record = logging.LogRecord("tacit", 20, "", 0, "token tct_abc", None, None)
    >>> "tct_" in JsonLines().format(record)
    False
    """

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["trace"] = "".join(traceback.format_exception(*record.exc_info))
        return without_secrets(msgspec.json.encode(line, enc_hook=str).decode())


def names_no_page(record: logging.LogRecord, /) -> bool:
    """Leave out the web server's lines on web sockets, whose queries name pages that are open.

    >>> said = '%s - "WebSocket %s" [accepted]'
    >>> names_no_page(logging.LogRecord("uvicorn.error", 20, "", 0, said, (), None))
    False
    """
    return '"WebSocket ' not in str(record.msg)


def set_up_logs() -> None:
    """Have everything in this process log to standard error, libraries and Python itself too."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    handler.addFilter(names_no_page)
    logging.getLogger().handlers = [handler]
    for name in ("tacit", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers = []
        logger.setLevel(logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = lambda *error: log.critical("ended by an error", exc_info=error)
    threading.excepthook = lambda found: _log_error("a thread ended by an error", found)
    sys.unraisablehook = lambda found: _log_error("an error that nobody can catch", found)


def _log_error(what: str, found: threading.ExceptHookArgs | sys.UnraisableHookArgs) -> None:
    if found.exc_value is not None:
        log.error(what, exc_info=(found.exc_type, found.exc_value, found.exc_traceback))


def connection_class(most: int | None, /) -> type[asyncio.Protocol]:
    """Return the protocol class of the web server, with `most` connections per address.

    The server itself waits for a request as long as its client likes. So whoever opens connections
    and sends nothing could take all of them.
    """
    network = lru_cache(maxsize=2 * MOST_CONNECTIONS)(network_of)

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        """A connection that ends unless its client requests something."""

        _too_slow: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            # Counting is linear, so it begins when there are so many that one may have too many.
            if most is not None and len(self.connections) > most and self._neighbours() > most:
                transport.abort()
            else:
                self._wait_for_head()

        def _neighbours(self) -> int:
            """Connections of the same address, web sockets among them."""
            mine = _address(self)
            return sum(network(_address(each)) == network(mine) for each in self.connections)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is None or self.cycle.response_complete:
                self._wait_for_head()
            else:
                self._stop_waiting()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            if self._too_slow is None:
                self._too_slow = self.loop.call_later(HEAD_SECONDS, self._end)

        def _stop_waiting(self) -> None:
            if self._too_slow is not None:
                self._too_slow.cancel()
                self._too_slow = None

        def _end(self) -> None:
            # If the client has asked for a web socket, that has taken over the transport by now.
            # Before Python 3.11.4 a TLS transport that was lost and then closed cannot be aborted.
            with suppress(AttributeError):
                if self.transport.get_protocol() is self:
                    self.transport.abort()

    return Connection


def _address(connection: Any) -> str:  # noqa: ANN401 - of HTTP or of a web socket
    return connection.client[0] if connection.client else "unknown"


class ImpatientLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers limit the time of TLS handshakes and shutdowns."""

    async def create_server(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *places: Any,  # noqa: ANN401 - asyncio's own
        **options: Any,  # noqa: ANN401 - asyncio's own
    ) -> asyncio.Server:
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", HEAD_SECONDS)
            options.setdefault("ssl_shutdown_timeout", GOODBYE_SECONDS)
        return await super().create_server(protocol_factory, *places, **options)


def allow_many_files() -> int:
    """Raise the limit of open files to what the system allows, and return it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


class _Server(uvicorn.Server):
    """A web server that ends event streams before it stops, and loads renewed certificates."""

    def __init__(self, config: uvicorn.Config, platform: Platform) -> None:
        super().__init__(config)
        self._platform = platform
        self._certificate_stamp = self._stamp()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Not in `on_tick`: an error there would end the server.
        tasks, context = self._platform.execution.tasks, self.config.ssl
        if context is not None:
            look = partial(self.use_new_certificate, context)
            tasks.every(CERTIFICATE_SECONDS, "new certificate", look)
        if self.config.ssl_certfile is not None:
            warn = partial(self.warn_of_expiry, Path(self.config.ssl_certfile))
            tasks.every(DAY, "expiry of the certificate", warn)

    def _stamp(self) -> tuple[int, ...]:
        files = [self.config.ssl_certfile, self.config.ssl_keyfile]
        there = [Path(each) for each in files if each is not None and Path(each).exists()]
        return tuple(each.stat().st_mtime_ns for each in there)

    def warn_of_expiry(self, certificate: Path) -> None:
        when = {"the platform's website": expires(read_certificate(certificate))}
        for warning in expiry_warnings(when, time.time()).values():
            log.warning(warning)

    def use_new_certificate(self, context: ssl.SSLContext) -> None:
        """Have new connections see the certificate that is in the file now."""
        try:
            stamp = self._stamp()
            if stamp != self._certificate_stamp:
                files = str(self.config.ssl_certfile), self.config.ssl_keyfile
                # Tried in another context first: a certificate without its key, while somebody
                # replaces both, would leave the server's own unable to accept connections.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*files)
                context.load_cert_chain(*files)
                self._certificate_stamp = stamp
        except OSError:
            return  # somebody is just replacing it and its key

    async def shutdown(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        # Streams never end by themselves, and the server waits for open requests.
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
        forwarded_allow_ips=settings.proxies,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=MOST_CONNECTIONS,
        ws_max_size=SMALL_BYTES,
    )
    return _Server(config, app.state.platform)


def serve(settings: Settings, /, *, worker: MakeWorker | None = WorkerThread) -> None:
    """Serve until Ctrl-C or SIGTERM; `worker` executes runs in this process, if there is one."""
    set_up_logs()
    forbid_core_files()
    # The default of 5 ms would delay an answer that is due by that, at each of its steps, while
    # another thread computes.
    sys.setswitchinterval(SWITCH_SECONDS)
    # The lock comes before the database: the start takes over what was running.
    with the_single_instance(settings):
        app = make_app(settings, execution=partial(ApiExecution, worker=worker))
        if find_spec("tacit.service.dashboard") is not None:
            from tacit.service.dashboard import mount  # type: ignore[import-not-found, unused-ignore]

            mount(app, settings)
        allow_many_files()
        with asyncio.Runner(loop_factory=ImpatientLoop) as runner:
            runner.run(make_server(settings, app).serve())


def check_shared(settings: Settings, /) -> None:
    """Refuse parts of a platform on SQLite, which has all of it in one process."""
    if settings.database_url.startswith(SQLITE):
        raise InputError(
            "the database is SQLite, which one process has for itself; start the whole platform "
            "with tacit service run, or name a PostgreSQL database in service.toml"
        )


def serve_api(settings: Settings, /) -> None:
    """Serve API and dashboard; the runs are executed by other processes."""
    check_shared(settings)
    serve(settings, worker=None)


def work(settings: Settings, /) -> None:
    """Execute runs until Ctrl-C or SIGTERM, beside any number of other processes."""
    check_shared(settings)
    set_up_logs()
    forbid_core_files()
    allow_many_files()
    database = Database(settings.database_url)
    try:
        asyncio.run(_work(settings, database))
    finally:
        database.close()


async def _work(settings: Settings, database: Database) -> None:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    announcer, executor = Announcer(database), Executor(settings, database)
    await announcer.start()
    await executor.start()
    executor.tasks.once("wake-ups", _wake(executor, announcer))
    executor.metrics.watch_tasks(executor.tasks)
    address = settings.worker_metrics
    stop_metrics = executor.metrics.serve(address) if address else None
    log.info("executes runs", extra={"fields": {"worker": executor.name}})
    try:
        await ended.wait()
    finally:
        if stop_metrics is not None:
            await asyncio.to_thread(stop_metrics)
        await executor.stop()
        await announcer.close()


async def _wake(executor: Executor, announcer: Announcer) -> None:
    """Have it look at once when a run has changed, whichever process changed it."""
    while True:
        with announcer.listening() as events:
            while (event := await events.get()) is not None:
                if event.kind in WAKING:
                    executor.look_now()


def main(arguments: list[str], /) -> int:
    """Serve as a config file says until the standard input ends."""
    try:
        settings = load_settings(Path(arguments[0]))
        threading.Thread(target=_stop_at_the_end_of_input, daemon=True).start()
        serve(settings)
    except TacitError as error:
        print(f"tacit: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _stop_at_the_end_of_input() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
