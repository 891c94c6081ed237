"""Connections on which nobody asks for anything shut nobody out; certificates are renewed."""

from __future__ import annotations

import json
import logging
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from fastapi import FastAPI, WebSocket
from starlette.routing import WebSocketRoute
from websockets.sync.client import connect

from tacit.identity.rotation import Rotated
from tacit.mpc.transport import fingerprint, make_certificate
from tacit.service.server import serve
from tacit.service.server.serve import ImpatientLoop, make_server
from tacit.service.server.settings import Settings
from tests.service.world import API, World, served
from tests.support import platform

SPEAKS = """
import asyncio, logging, threading, warnings
from tacit.service.server.serve import set_up_logs

set_up_logs()

def fail(*_):
    raise ValueError("tct_secret")

class Gone:
    __del__ = fail

async def fail_in_a_callback():
    asyncio.get_running_loop().call_soon(fail)
    await asyncio.sleep(0.01)

logging.getLogger("tacit.service").info("of ours")
try:
    fail()
except ValueError as error:
    logging.getLogger("nicegui").exception(error)
logging.getLogger("nicegui").info("nobody needs this")
warnings.warn("of Python")
thread = threading.Thread(target=fail)
thread.start()
thread.join()
Gone()
asyncio.run(fail_in_a_callback())
fail()
"""
HEAD = f"GET {API}/health HTTP/1.1\r\nHost: x\r\n".encode()
LIMIT = 5


@dataclass
class Clock:
    """The time of the server's event loop, which a test lets pass."""

    ahead: float = 0.0

    def pass_by(self, seconds: float) -> None:
        """The server looks at it ten times a second."""
        self.ahead += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()

    class Ahead(ImpatientLoop):
        def time(self) -> float:
            return super().time() + made.ahead

    # The loop of this server alone: another one in this process would sleep until that time.
    monkeypatch.setattr(platform, "ImpatientLoop", Ahead)
    return made


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[World]:
    # Longer than anything takes here, so that only a test's own clock brings it about.
    monkeypatch.setattr(serve, "HEAD_SECONDS", 600.0)
    with served(settings, connections_per_address=LIMIT) as made:
        yield made


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def plain(world: World) -> socket.socket:
    host, port = world.url.removeprefix("https://").split(":")
    return socket.create_connection((host, int(port)), timeout=120)


def connected(world: World) -> ssl.SSLSocket:
    return trusting().wrap_socket(plain(world))


def is_ended(link: socket.socket) -> bool:
    """Whether the other side ends it; if it does not, this takes two minutes."""
    try:
        while link.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True  # and without a good-bye
    return True


def is_readable(link: socket.socket) -> bool:
    """Whether there is something to read, of which the end is one."""
    link.settimeout(0.2)
    try:
        return link.recv(1) is not None
    except TimeoutError:
        return False
    finally:
        link.settimeout(120)


def until_served(world: World) -> None:
    """Wait until the server has done what it was asked before, and has looked at its clock."""
    for _ in range(2):
        assert world.call("GET", "/health").is_success


@pytest.mark.parametrize("sent", [b"", HEAD], ids=["nothing", "half a head"])
@pytest.mark.slow
def test_whoever_asks_nothing_has_to_leave(world: World, clock: Clock, sent: bytes) -> None:
    with connected(world) as link:
        link.sendall(sent)
        until_served(world)
        assert not is_readable(link)
        clock.pass_by(601)
        assert is_ended(link)


@pytest.mark.slow
def test_half_a_head_after_a_whole_request_does_not_help(world: World, clock: Clock) -> None:
    with connected(world) as link:
        link.sendall(HEAD + b"\r\n")
        answer = link.recv(65536)
        assert answer.startswith(b"HTTP/1.1 200")
        while not answer.endswith(b"}"):
            answer += link.recv(65536)
        link.sendall(HEAD)
        until_served(world)
        # The web server's own patience is for whoever says nothing at all.
        clock.pass_by(300)
        until_served(world)
        assert not is_readable(link)
        clock.pass_by(301)
        assert is_ended(link)


@pytest.mark.slow
def test_whoever_never_shakes_hands_has_to_leave(world: World, clock: Clock) -> None:
    with plain(world) as link:
        until_served(world)
        assert not is_readable(link)
        clock.pass_by(601)
        assert is_ended(link)


@pytest.mark.slow
def test_an_address_has_so_many_connections(world: World) -> None:
    with ExitStack() as stack:
        for _ in range(LIMIT):
            stack.enter_context(connected(world))
        with connected(world) as link:
            assert is_ended(link)


@pytest.mark.slow
def test_a_web_socket_stays(world: World, clock: Clock) -> None:
    async def echo(socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())

    world.app.router.routes.insert(0, WebSocketRoute("/echo", echo))
    url = world.url.replace("https", "wss") + "/echo"
    with connect(url, ssl=trusting()) as socket_:
        clock.pass_by(601)
        until_served(world)
        socket_.send("here")
        assert socket_.recv(timeout=120) == "here"


@pytest.mark.slow
def test_as_many_files_may_be_open_as_the_system_allows() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        assert serve.allow_many_files() == before[1]
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def shown(server: ssl.SSLContext) -> str:
    """The fingerprint of the certificate that a new connection sees, without a socket."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialler = client.wrap_bio(back, there)
    listener = server.wrap_bio(there, back, server_side=True)
    for each in (dialler, listener):
        with pytest.raises(ssl.SSLWantReadError):
            each.do_handshake()
    dialler.do_handshake()
    seen = dialler.getpeercert(binary_form=True)
    assert seen is not None
    return fingerprint(ssl.DER_cert_to_PEM_cert(seen))


def test_a_new_certificate_is_shown_without_a_restart(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    assert settings.tls_certificate is not None
    assert settings.tls_key is not None
    files = settings.place(settings.tls_certificate), settings.place(settings.tls_key)
    app = FastAPI()
    app.state.platform = None
    server = make_server(settings, app)
    server.config.load()
    context = server.config.ssl
    assert context is not None
    rotated = Rotated(*files, https_hosts=["127.0.0.1"])
    before = fingerprint(files[0].read_text())
    assert shown(context) == before
    for step, is_new in ((rotated.prepare, False), (rotated.switch, True), (rotated.finish, True)):
        step()
        server.use_new_certificate(context)  # type: ignore[attr-defined]
        assert (shown(context) != before) is is_new

    files[0].write_text("half a file")
    server.use_new_certificate(context)  # type: ignore[attr-defined]
    assert shown(context) != before
    files[0].write_text(make_certificate("service", days=5)[0])
    with caplog.at_level(logging.WARNING):
        server.warn_of_expiry(files[0])  # type: ignore[attr-defined]
    assert "the certificate of the platform's website expires in 5 days" in caplog.text


LIMITS = "import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"
STARTED = {
    "node": f"""
import tacit.node.process as process
def serve(work):
    work.close()
    {LIMITS}
process.asyncio.run = serve
process.run_node(None)
""",
    "platform": f"""
import tacit.service.server.serve as serve
def locked(_):
    {LIMITS}
    raise SystemExit
serve.the_single_instance = locked
serve.serve(None)
""",
}


@pytest.mark.processes
@pytest.mark.parametrize("what", STARTED)
def test_what_holds_keys_leaves_no_core_file(what: str) -> None:
    """Also where it is started by hand: processes that it starts have the same limit."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        pytest.skip("there are no core files here anyway")
    command = f"ulimit -c $(ulimit -Hc); exec {sys.executable} -c '{STARTED[what]}'"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "(0, 0)", done.stderr


@pytest.mark.processes
def test_whatever_is_logged_is_a_line_of_json_without_secrets() -> None:
    """Of libraries, of Python's warnings and of errors that nobody catches, too."""
    done = subprocess.run(
        [sys.executable, "-c", SPEAKS], capture_output=True, text=True, check=False, timeout=300
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [each["logger"] for each in lines] == [
        "tacit.service",
        "nicegui",
        "py.warnings",
        "tacit.service",
        "tacit.service",
        "asyncio",
        "tacit.service",
    ]
    assert [each["level"] for each in lines[3:]] == ["error", "error", "error", "critical"]
    assert all("ValueError" in each["trace"] for each in (lines[1], *lines[3:]))
    assert "secret" not in done.stderr.replace("[secret]", "")
    assert done.returncode == 1
