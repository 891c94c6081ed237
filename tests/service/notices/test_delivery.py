"""Mail with STARTTLS and webhooks over TLS: nothing goes to a server that is not the right one."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from msgspec.structs import replace

from tacit.client import check_webhook
from tacit.errors import FileError
from tacit.identity import write_https_certificate
from tacit.local import free_addresses
from tacit.service.notices.delivery import (
    UndeliveredError,
    call_webhook,
    message_about,
    send_mail,
    trusted_authorities,
)
from tacit.service.server.settings import MailSettings, Settings

USER, PASSWORD = "tacit", "the password"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`right` and `other` are for 127.0.0.1, `named` is for another name; each has an authority."""
    folder = tmp_path_factory.mktemp("certificates")
    for name, host in (("right", "127.0.0.1"), ("other", "127.0.0.1"), ("named", "p.example")):
        (folder / name).mkdir()
        write_https_certificate(folder / name, [host], name="service")
    return folder


def server_context(folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "service.pem", folder / "service.tls.key")
    return context


class Inbox:
    """A mail server's own side: what it was sent, and over what."""

    def __init__(self) -> None:
        self.mail: list[tuple[bool, str]] = []
        self.passwords: list[str] = []

    async def handle_DATA(self, server: Any, _session: object, envelope: Any) -> str:  # noqa: N802
        encrypted = server.transport.get_extra_info("ssl_object") is not None
        self.mail.append((encrypted, envelope.content.decode()))
        return "250 OK"

    def authenticate(
        self, _server: object, _session: object, _envelope: object, _how: str, given: Any
    ) -> AuthResult:
        assert isinstance(given, LoginPassword)
        self.passwords.append(given.password.decode())
        is_right = (given.login.decode(), self.passwords[-1]) == (USER, PASSWORD)
        return AuthResult(success=is_right)


@contextmanager
def mail_server(folder: Path | None, *, at_once: bool = False) -> Iterator[tuple[Inbox, int]]:
    """With STARTTLS, with TLS `at_once`, or without any."""
    inbox, port = Inbox(), int(free_addresses(1)[0].rpartition(":")[2])
    context = None if folder is None else server_context(folder)
    kept: dict[str, Any] = {"authenticator": inbox.authenticate}
    if at_once:
        # Over TLS from the start; the library knows of no other way to say so.
        kept |= {"ssl_context": context, "auth_require_tls": False}
    else:
        kept |= {"tls_context": context, "auth_require_tls": context is not None}
    server = Controller(inbox, hostname="127.0.0.1", port=port, **kept)
    server.start()
    try:
        yield inbox, port
    finally:
        server.stop()


def send(settings: Settings, port: int, ca: Path | None, **more: Any) -> None:
    password = settings.place("password")
    password.write_text(f"{PASSWORD}\n")
    password.chmod(0o600)
    mail = MailSettings(
        host="127.0.0.1",
        port=port,
        sender="tacit@example.org",
        user=USER,
        password_file="password",
        ca=None if ca is None else str(ca),
        **more,
    )
    message = message_about("it is over", to="op@example.org", settings=settings, mail=mail)
    send_mail(message, replace(settings, mail=mail), mail)


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_mail_goes_encrypted_to_the_server_whose_certificate_is_known(
    settings: Settings, certificates: Path, security: str
) -> None:
    at_once = security == "tls"
    with mail_server(certificates / "right", at_once=at_once) as (inbox, port):
        for pinned in ("ca.pem", "service.pem"):  # the authority's, and the server's own
            send(settings, port, certificates / "right" / pinned, security=security)
        for wrong in (None, certificates / "other" / "ca.pem"):
            with pytest.raises(UndeliveredError, match="CERTIFICATE_VERIFY_FAILED"):
                send(settings, port, wrong, security=security)
        with pytest.raises(FileError, match=r"get ca\.pem"):
            send(settings, port, certificates / "none.pem", security=security)
    assert [encrypted for encrypted, _ in inbox.mail] == [True, True]
    assert inbox.passwords == [PASSWORD] * 2, "and nobody else is told the password"
    assert "Subject: tacit: it is over" in inbox.mail[0][1]


def test_mail_for_another_name_or_without_encryption_is_not_sent(
    settings: Settings, certificates: Path
) -> None:
    with mail_server(certificates / "named") as (inbox, port):
        with pytest.raises(UndeliveredError, match=r"not valid for '127.0.0.1'|mismatch"):
            send(settings, port, certificates / "named" / "ca.pem")
        assert (inbox.passwords, inbox.mail) == ([], [])
    # As where somebody in the middle leaves STARTTLS out of the server's answer.
    with mail_server(None) as (inbox, port):
        with pytest.raises(UndeliveredError, match="STARTTLS"):
            send(settings, port, certificates / "right" / "ca.pem")
        assert (inbox.passwords, inbox.mail) == ([], [])


@dataclass
class Receiver:
    """A webhook's server, which keeps what it is sent."""

    url: str = ""
    calls: list[tuple[str, str, bytes]] = field(default_factory=list)
    """Path, signature and body of each."""
    answers: list[int] = field(default_factory=list)
    """What it answers first; then 204."""

    def kinds(self, path: str = "/hook") -> list[str]:
        # In the order in which they were made: those of one moment are delivered side by side.
        bodies = [json.loads(body) for where, _, body in self.calls if where == path]
        return [each["kind"] for each in sorted(bodies, key=lambda each: each["id"])]


@contextmanager
def receiving(folder: Path | None) -> Iterator[Receiver]:
    """With TLS where there is a folder with its certificate."""
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = made.answers.pop(0) if made.answers else 204
            made.calls.append((self.path, self.headers["Tacit-Signature"], body))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        do_GET = do_POST  # noqa: N815 - the server's own name

        def log_message(self, *_: object) -> None: ...

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Whoever does not believe the certificate hangs up."""
            assert isinstance(sys.exception(), OSError)

    with Quiet(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}/hook"
        if folder is not None:
            server.socket = server_context(folder).wrap_socket(server.socket, server_side=True)
            made.url = made.url.replace("http", "https", 1)
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()


def call(url: str, own: Path | None) -> None:
    body: dict[str, object] = {"id": 1, "kind": "finished"}
    trusted = trusted_authorities(own)
    asyncio.run(call_webhook(url, body, secret="tcw_s", to_private=True, trusted=trusted))


def test_webhooks_are_called_where_the_certificate_is_known(certificates: Path) -> None:
    with receiving(certificates / "right") as server:
        call(server.url, certificates / "right" / "ca.pem")
        for wrong in (None, certificates / "other" / "ca.pem"):
            with pytest.raises(UndeliveredError, match="CERTIFICATE_VERIFY_FAILED"):
                call(server.url, wrong)
    ((_, signature, body),) = server.calls
    check_webhook("tcw_s", signature, body, now=time.time())


def test_no_webhook_is_called_under_the_certificate_of_another_name(certificates: Path) -> None:
    with receiving(certificates / "named") as server:
        with pytest.raises(UndeliveredError, match=r"not valid for '127.0.0.1'|mismatch"):
            call(server.url, certificates / "named" / "ca.pem")
        assert server.calls == []


def test_a_file_that_is_no_authority_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "wrong.pem").write_text("no certificate")
    with pytest.raises(FileError, match=r"correct webhooks_ca in service\.toml"):
        trusted_authorities(tmp_path / "wrong.pem")
