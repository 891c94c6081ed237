"""When the platform is away, is somebody else, or says no: one line with the remedy."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tacit.client import PlatformClient, tls_context
from tacit.errors import InputError, NotThereError, PlatformError, TrustError
from tacit.identity.certificates import CertificateFiles, new_certificate
from tacit.local.cluster import LocalCluster, free_addresses
from tacit.participant import join, load_profile, result, runs, sign, withdraw
from tacit.problems import Objective
from tacit.service.access.credentials import revoke_all
from tests.participant.conftest import World
from tests.participant.platform import RUN, Platform, csv_of, served, slots
from tests.support.command_line import Tacit
from tests.support.cpu_waits import CpuWaits


def test_offline(world: World, tacit: Tacit) -> None:
    replace(world.north, url=f"https://{free_addresses(1)[0]}").save()
    said = tacit("runs", "--profile", world.north.folder)
    assert said.code == 4
    assert "cannot be reached" in said.err
    assert "check your network connection and the address" in said.err
    assert said.err.count("\n") == 1


def test_a_platform_that_does_not_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            PlatformClient(url, timeout=0.2) as client,
            pytest.raises(PlatformError, match=r"did not answer within 0.2 s; try again"),
        ):
            client.send("GET", "/runs")


def test_another_certificate_gets_no_token(world: World, tacit: Tacit) -> None:
    before = len(world.platform.received)
    other = new_certificate("somebody", world.folder).certificate
    (world.north.folder / "ca.pem").write_text(other.read_text())
    said = tacit("runs", "--profile", world.north.folder)
    assert said.code == 3
    assert "shows a certificate that is not trusted here" in said.err
    assert "somebody stands in between" in said.err
    (world.north.folder / "ca.pem").unlink()
    assert tacit("runs", "--profile", world.north.folder).code == 3, "nor does this computer"
    assert len(world.platform.received) == before


def test_an_expired_token(world: World, tacit: Tacit) -> None:
    with world.platform.database.writing() as session:
        revoke_all(session, "north")
    said = tacit("review", RUN, "--profile", world.north.folder)
    assert said.code == 4
    assert "has expired or was revoked; ask the operator for a new invitation" in said.err
    assert f"tacit participant join {world.platform.url} CODE" in said.err
    code = world.platform.invite_again("north")
    again = tacit("join", world.platform.url, code, "--profile", world.north.folder)
    assert again.code == 0, again.err
    assert runs(load_profile(world.north.folder))[0].id == RUN


def test_an_invitation_works_once(world: World, tacit: Tacit) -> None:
    used = world.platform.codes["north"]
    said = tacit("join", world.platform.url, used, "--profile", world.north.folder)
    assert said.code == 4
    assert "it was used, has expired or was mistyped; ask the operator for a new one" in said.err


def test_the_wrong_state_is_told_in_the_platforms_words(world: World, tacit: Tacit) -> None:
    sign(world.north, RUN)
    said = tacit("submit", RUN, world.csv(), "--profile", world.north.folder)
    assert said.code == 4
    assert said.err == "tacit: the run is invited; to submit it must be agreed\n"
    assert withdraw(world.north, RUN, reason="ill").state == "cancelled"
    said = tacit("result", RUN, "--profile", world.north.folder)
    assert said.code == 6
    assert said.err.endswith(f"tacit: {RUN} is cancelled and will have no plan\n")


def test_a_run_that_was_cancelled_unsigned_alarms_nobody(world: World, tacit: Tacit) -> None:
    withdraw(world.north, RUN, reason="ill")
    said = tacit("log", RUN, "--profile", world.north.folder)
    assert said.code == 4
    assert "is cancelled, and this machine has signed and sealed nothing for it" in said.err


def test_no_such_run(world: World, tacit: Tacit) -> None:
    assert tacit("review", "evening", "--profile", world.north.folder).code == 2
    with pytest.raises(NotThereError):
        result(world.north, "r-zzzzzzzzzz")
    with pytest.raises(InputError, match="is not a run"):
        world.north.signed_agreement("../../etc")


def test_a_profile_stays_with_its_platform(world: World) -> None:
    with pytest.raises(InputError, match="has the profile of 'north'"):
        join("https://other.example", "code", profile=world.north.folder)


def test_what_is_no_tacit_platform(tmp_path: Path, tacit: Tacit) -> None:
    assert tacit("runs", "--profile", tmp_path).code == 2
    said = tacit("join", "http://platform.example", "x", "--profile", tmp_path)
    assert "your token would travel in the open" in said.err
    (tmp_path / "bad.pem").write_text("nonsense")
    with pytest.raises(InputError, match="is not a certificate"):
        tls_context(tmp_path / "bad.pem")


def test_the_plan_for_a_desk_and_for_a_spreadsheet(finished: World, tacit: Tacit) -> None:
    folder = finished.north.folder
    said = tacit("result", RUN, "--profile", folder)
    assert said.code == 0
    head, *lines = said.out.splitlines()
    assert head.split() == ["row", "column"]
    assert [line.endswith("*") for line in lines] == [True] * 3 + [False] * 6
    table = tacit("result", RUN, "--csv", "--profile", folder).out.splitlines()
    assert table[0] == "row,column,whose"
    assert table[1].startswith("F0,")
    assert table[1].endswith(",yours")
    assert '"items"' in tacit("result", RUN, "--json", "--profile", folder).out
    assert tacit("runs", "--profile", folder).out == f"{RUN}  finished     morning\n"
    late = tacit("withdraw", RUN, "--yes", "--profile", folder)
    assert late.code == 4
    assert "the run is finished; to become cancelled it must be" in late.err


def test_what_ones_own_rows_cost_is_computed_here(finished: World, tacit: Tacit) -> None:
    command = ("result", RUN, "--costs", finished.csv(), "--profile", finished.north.folder)
    plan = json.loads(tacit("result", RUN, "--json", *command[-2:]).out)["plan"]["items"]
    weights = finished.platform.problem.objectives[0].weights
    assert weights is not None
    own = [int(weights[row, plan[row]]) / 10 for row in range(3)]
    sent = finished.platform.received
    sent.clear()
    tacit("result", RUN, *command[-2:])
    usual = [len(body) for body in sent]
    sent.clear()
    said = tacit(*command)
    assert [len(body) for body in sent] == usual, "the file is nobody's business"
    assert (said.code, "Note" in said.err) == (0, False)
    assert [float(line.split()[-1]) for line in said.out.splitlines()[-4:]] == pytest.approx(
        [*own, sum(own)]
    )
    table = tacit(*command, "--csv").out.splitlines()
    assert table[0] == "row,column,cost"
    assert [float(line.split(",")[2]) for line in table[1:]] == own
    shown = json.loads(tacit(*command, "--json").out)["own_costs"]["plans"]
    assert float(shown[0]["sum"]) == pytest.approx(sum(own))
    other = finished.folder / "other.csv"
    other.write_text(csv_of(replace(finished.platform.problem, objectives=(raised(),)), "north"))
    said = tacit("result", RUN, "--costs", other, *command[-2:])
    assert "in your file F0, F1, F2 is not what you sealed for this run" in said.err
    wrong = tacit("result", RUN, "--costs", finished.csv("south"), *command[-2:])
    assert (wrong.code, "is not a row of 'north'" in wrong.err) == (2, True)
    assert tacit("result", RUN, "--objective", "delay", *command[-2:]).code == 2


def raised() -> Objective:
    """Other costs of the same flights."""
    (delay,) = slots().objectives
    assert delay.weights is not None
    return replace(delay, weights=(delay.weights + 1) % 3000)


def test_keys(tmp_path: Path, tacit: Tacit) -> None:
    made = tacit("keys", "new", "north", "--profile", tmp_path)
    assert made.code == 0
    assert tacit("keys", "show", "--profile", tmp_path).out == made.out
    assert tacit("keys", "new", "north", "--profile", tmp_path).code == 2
    assert tacit("keys", "new", "../x", "--profile", tmp_path).code == 2
    tacit("keys", "new", "south", "--profile", tmp_path)
    said = tacit("join", "https://platform.example", "code", "--profile", tmp_path)
    assert "there are several keys (north.key, south.key); choose one with --key" in said.err


def authority_for(name: str, folder: Path) -> tuple[Path, Path]:
    """A self-signed authority that is a server of this name as well; certificate and key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "ca.pem").write_bytes(made.public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "ca.key").write_bytes(secret)
    (folder / "ca.key").chmod(0o600)
    return folder / "ca.pem", folder / "ca.key"


@pytest.mark.parametrize("name", ["localhost", "other.example"])
def test_an_authority_vouches_for_names(nodes: LocalCluster, tmp_path: Path, name: str) -> None:
    """Whoever has a certificate of the same authority for another name is not the platform."""
    certificate = CertificateFiles(*authority_for(name, tmp_path))
    with served(Platform(nodes, tmp_path, certificate=certificate)) as platform:
        url = platform.url.replace("127.0.0.1", "localhost")
        with PlatformClient(url, token="x", ca=tmp_path / "ca.pem") as client:
            expected = PlatformError if name == "localhost" else TrustError
            with pytest.raises(expected, match="your token" if name == "localhost" else "not for"):
                client.send("GET", "/runs")


class _Drips(BaseHTTPRequestHandler):
    """Says a little at a time: its headers on one path, its content on the other."""

    def do_GET(self) -> None:
        slow = self.path.endswith("/headers")
        if not slow:
            self.send_response(200)
            self.end_headers()
        else:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Much: ")
        try:
            for _ in range(2400):
                time.sleep(0.05)
                self.wfile.write(b"x")
                self.wfile.flush()
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("path", ["/headers", "/content"])
def test_an_answer_that_drips_ends_in_time(path: str) -> None:
    with HTTPServer(("127.0.0.1", 0), _Drips) as server:
        Thread(target=server.handle_request, daemon=True).start()
        with (
            CpuWaits() as waits,
            PlatformClient(f"http://127.0.0.1:{server.server_port}", timeout=0.4) as client,
        ):
            begun = time.monotonic()
            with pytest.raises(PlatformError, match=r"did not answer within 0.4 s"):
                client.send("GET", path)
            ended = time.monotonic()
        assert ended - begun - waits.between(begun, ended) < 1.5


def test_who_waits_is_told_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tacit.client.connection.SILENT_SECONDS", 0.1)
    told = Event()

    class Waits(_Drips):
        """Answers when the client has told that it waits."""

        def do_GET(self) -> None:
            told.wait(120)
            self.send_response(200)
            self.end_headers()

    class Tells(logging.Handler):
        def emit(self, _: logging.LogRecord) -> None:
            told.set()

    log, handler = logging.getLogger("tacit.client"), Tells()
    log.addHandler(handler)
    try:
        with HTTPServer(("127.0.0.1", 0), Waits) as server:
            Thread(target=server.handle_request, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            with PlatformClient(url, timeout=120) as client:
                assert client.send("GET", "/content") == b""
    finally:
        log.removeHandler(handler)
    assert f"{url} has not answered for 0.1 s; waiting" in caplog.text


class _Floods(BaseHTTPRequestHandler):
    """A small answer that would unpack to a large one, or one that is large as it is."""

    def do_GET(self) -> None:
        packed = self.path.endswith("/packed")
        content = gzip.compress(bytes(1 << 22)) if packed else b" " * (1 << 22)
        self.send_response(200)
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        try:
            self.wfile.write(content)
        except OSError:
            return

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize(
    ("path", "message"), [("/packed", "not understood here"), ("/plain", "more than 1 MB")]
)
def test_no_answer_fills_the_memory(
    path: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.client.connection.MOST_BYTES", 1 << 20)
    with HTTPServer(("127.0.0.1", 0), _Floods) as server:
        Thread(target=server.handle_request, daemon=True).start()
        with (
            PlatformClient(f"http://127.0.0.1:{server.server_port}") as client,
            pytest.raises(PlatformError, match=message),
        ):
            client.get(path, list[str])


class _Says(BaseHTTPRequestHandler):
    """Answers every path /api/v1/CODE with that code."""

    def do_GET(self) -> None:
        code = int(self.path.rpartition("/")[2])
        self.send_response(code)
        self.send_header("Retry-After", "7")
        self.send_header("Location", "https://elsewhere.example/")
        self.end_headers()
        self.wfile.write(b"<h1>Traceback</h1>" if code != 422 else b'{"message":"a\\u001b[2Jb"}')

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


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
    with HTTPServer(("127.0.0.1", 0), _Says) as server:
        Thread(target=server.handle_request, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        with PlatformClient(url) as client, pytest.raises(PlatformError) as raised:
            client.get(f"/{code}", list[str])
    assert message in str(raised.value)
    assert str(raised.value).isprintable()
    assert "Traceback" not in str(raised.value)
