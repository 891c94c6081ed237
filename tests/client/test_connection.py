"""Answers that are slow, huge or nonsense, and addresses that are not encrypted."""

from __future__ import annotations

import contextlib
import gzip
import logging
import socket
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Event, Thread

import pytest

from tacit.client import PlatformClient, checked_url
from tacit.errors import InputError, PlatformError
from tests.support.cpu_waits import CpuWaits

Get = Callable[[BaseHTTPRequestHandler], None]


@contextlib.contextmanager
def answering_once(get: Get) -> Iterator[str]:
    """Something at an address that answers one request as it likes."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with contextlib.suppress(OSError):  # the client may have gone
                get(self)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.handle_request, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"


def test_a_token_never_travels_unencrypted() -> None:
    assert checked_url("https://platform.example:8443/") == "https://platform.example:8443"
    with pytest.raises(InputError, match="is not encrypted, and your token would travel"):
        checked_url("http://platform.example")
    with pytest.raises(InputError, match="write https://host:port"):
        checked_url("ftp://platform.example")


def test_a_platform_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            PlatformClient(url, timeout=0.2) as client,
            pytest.raises(PlatformError, match=r"did not answer within 0.2 s; try again"),
        ):
            client.send("GET", "/runs")


@pytest.mark.parametrize("slow", ["headers", "content"])
def test_an_answer_that_drips_ends_in_time(slow: str) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        if slow == "content":
            handler.send_response(200)
            handler.end_headers()
        else:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Much: ")
        for _ in range(2400):
            time.sleep(0.05)
            handler.wfile.write(b"x")
            handler.wfile.flush()

    with (
        answering_once(drip) as url,
        CpuWaits() as waits,
        PlatformClient(url, timeout=0.4) as client,
    ):
        begun = time.monotonic()
        with pytest.raises(PlatformError, match=r"did not answer within 0.4 s"):
            client.send("GET", "/slow")
        ended = time.monotonic()
    assert ended - begun - waits.between(begun, ended) < 1.5


def test_who_waits_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tacit.client.connection.SILENT_SECONDS", 0.1)
    logged = Event()

    def answer_once_logged(handler: BaseHTTPRequestHandler) -> None:
        logged.wait(120)
        handler.send_response(200)
        handler.end_headers()

    class Notices(logging.Handler):
        def emit(self, _: logging.LogRecord) -> None:
            logged.set()

    log, notices = logging.getLogger("tacit.client"), Notices()
    log.addHandler(notices)
    try:
        with answering_once(answer_once_logged) as url, PlatformClient(url, timeout=120) as client:
            assert client.send("GET", "/content") == b""
    finally:
        log.removeHandler(notices)
    assert f"{url} has not answered for 0.1 s; waiting" in caplog.text


@pytest.mark.parametrize(
    ("packed", "message"), [(True, "not understood here"), (False, "more than 1 MB")]
)
def test_no_answer_fills_the_memory(
    packed: bool, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small answer that would unpack to a large one, or one that is large as it is."""

    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        if packed:
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        handler.wfile.write(gzip.compress(bytes(1 << 22)) if packed else b" " * (1 << 22))

    monkeypatch.setattr("tacit.client.connection.MOST_BYTES", 1 << 20)
    with (
        answering_once(flood) as url,
        PlatformClient(url) as client,
        pytest.raises(PlatformError, match=message),
    ):
        client.get("/any", list[str])


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (200, "answers something that is not understood here"),
        (302, "the platform refuses (302)"),
        (413, "the platform refuses (413)"),
        (422, "a[2Jb"),
        (429, "the platform has too much to do; try again in 7 s"),
        (502, "the platform failed (502); tell its operator, and try again later"),
    ],
)
def test_whatever_it_says_is_one_line(code: int, message: str) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(code)
        handler.send_header("Retry-After", "7")
        handler.send_header("Location", "https://elsewhere.example/")
        handler.end_headers()
        body = b"<h1>Traceback</h1>" if code != 422 else b'{"message":"a\\u001b[2Jb"}'
        handler.wfile.write(body)

    with (
        answering_once(answer) as url,
        PlatformClient(url) as client,
        pytest.raises(PlatformError) as raised,
    ):
        client.get("/any", list[str])
    assert message in str(raised.value)
    assert str(raised.value).isprintable()
    assert "Traceback" not in str(raised.value)
