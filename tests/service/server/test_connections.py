"""Connections on which nobody asks for anything shut nobody out."""

from __future__ import annotations

import resource
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from fastapi import WebSocket
from starlette.routing import WebSocketRoute
from websockets.sync.client import connect

from tacit.service.server import connections
from tacit.service.server.settings import Settings
from tests.service.served import served
from tests.service.world import API, World

pytestmark = pytest.mark.slow

HEAD = f"GET {API}/health HTTP/1.1\r\nHost: x\r\n".encode()
LIMIT = 5


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.4)
    with served(settings, connections_per_address=LIMIT) as made:
        yield made


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def plain(world: World) -> socket.socket:
    host, port = world.url.removeprefix("https://").split(":")
    return socket.create_connection((host, int(port)), timeout=5)


def connected(world: World) -> ssl.SSLSocket:
    return trusting().wrap_socket(plain(world))


def is_ended(link: socket.socket) -> bool:
    """Whether the other side ends it; if it does not, this takes five seconds."""
    try:
        while link.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True  # and without a good-bye
    return True


@pytest.mark.parametrize("sent", [b"", HEAD], ids=["nothing", "half a head"])
def test_whoever_asks_nothing_has_to_leave(world: World, sent: bytes) -> None:
    with connected(world) as link:
        link.sendall(sent)
        assert is_ended(link)


def test_half_a_head_after_a_whole_request_does_not_help(world: World) -> None:
    with connected(world) as link:
        link.sendall(HEAD + b"\r\n")
        time.sleep(0.6)
        answer = link.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        link.sendall(HEAD)
        assert is_ended(link)


def test_whoever_never_shakes_hands_has_to_leave(world: World) -> None:
    with plain(world) as link:
        assert is_ended(link)


def test_an_address_has_so_many_connections(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 30.0)
    with ExitStack() as stack:
        for _ in range(LIMIT):
            stack.enter_context(connected(world))
        time.sleep(0.1)
        with connected(world) as link:
            assert is_ended(link)


def test_a_web_socket_stays(world: World) -> None:
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())

    world.app.router.routes.insert(0, WebSocketRoute("/echo", echo))
    url = world.url.replace("https", "wss") + "/echo"
    with connect(url, ssl=trusting()) as socket_:
        time.sleep(0.8)
        socket_.send("here")
        assert socket_.recv(timeout=5) == "here"


def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        assert connections.allow_many_files() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
