"""The samples for nginx and Caddy in front of two `tacit service api` on one PostgreSQL server."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tacit.client.connection import API
from tacit.identity.cluster import write_cluster
from tacit.local.cluster import free_addresses
from tacit.service.access.credentials import invite
from tacit.service.server.settings import load_settings, write_settings
from tacit.service.storage import Database, create_account
from tests.service.example_terms import plain_terms
from tests.service.postgres import new_database, postgres
from tests.support.repository import ROOT

DEPLOY = ROOT / "deploy"
START_SECONDS = 120.0
HOST = "tacit.example"


@dataclass
class Balanced:
    """Two processes, and a balancer in front of them."""

    folder: Path
    config: Path
    balancer: str
    replicas: list[str]
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"https://{self.balancer}"

    @property
    def web(self) -> Path:
        return self.config.parent

    def start(self, address: str) -> None:
        """Start `tacit service api` at this address, in place of the file's."""
        config = self.web / f"{address.replace(':', '-')}.toml"
        listen = f'listen = "{address}"'
        config.write_text(re.sub(r"^listen = .*$", listen, self.config.read_text(), flags=re.M))
        command = [sys.executable, "-m", "tacit", "service", "api", "--config", config]
        self._launch(address, command, f"https://{address}")

    def start_balancer(self, command: list[str | Path]) -> None:
        self._launch(self.balancer, command, self.url)

    def _launch(self, name: str, command: list[Any], url: str) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT)
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                answer = httpx.get(f"{url}{API}/health", verify=False)
                if answer.is_success:
                    return
            except httpx.TransportError:
                pass
            said = (self.folder / f"{name}.log").read_text()
            assert self.running[name].poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.1)

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        process.kill()
        process.wait()

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)

    def invitation(self) -> str:
        database = Database(load_settings(self.config).database_url)
        with database.writing() as session:
            create_account(session, "op", "operator")
            code = invite(session, "op", hours=1)[0]
        database.close()
        return code

    def served(self, path: str) -> list[str]:
        """Which process answered each request for a path, in order of the logs."""
        return [
            address
            for address in self.replicas
            for line in (self.folder / f"{address}.log").read_text().splitlines()
            if line.startswith("{") and json.loads(line).get("path") == path
        ]


@pytest.fixture
def balanced(tmp_path: Path) -> Iterator[Balanced]:
    cluster = write_cluster(tmp_path / "cluster", free_addresses(3))[-1]
    balancer, *replicas = free_addresses(3)
    with ExitStack() as stack:
        database = new_database(stack.enter_context(postgres()))
        config = write_settings(
            tmp_path / "web",
            clusters=[cluster],
            listen=replicas[0],
            url=f"https://{balancer}",
            hosts=[HOST],
        )
        text = config.read_text().replace("behind_proxy = false", "behind_proxy = true")
        config.write_text(re.sub(r"^database = .*$", f'database = "{database}"', text, flags=re.M))
        made = Balanced(tmp_path, config, balancer, replicas)
        stack.callback(made.close)
        for address in replicas:
            made.start(address)
        yield made


def sample(name: str, balanced: Balanced) -> str:
    """A sample with the addresses and files of this deployment, and nothing else changed."""
    text = (DEPLOY / name).read_text()
    for number, address in enumerate(balanced.replicas, start=1):
        assert f"10.0.0.1{number}:8443" in text
        text = text.replace(f"10.0.0.1{number}:8443", address)
    assert "/etc/tacit/" in text
    return text.replace("/etc/tacit/", f"{balanced.web}/")


def nginx(balanced: Balanced) -> list[str | Path]:
    """The command that starts nginx with the sample."""
    text = sample("nginx.conf", balanced)
    assert "listen 443 ssl;" in text
    text = text.replace("listen 443 ssl;", f"listen {balanced.balancer} ssl;")
    text = text.replace("/var/log/nginx/", f"{balanced.folder}/")
    config = balanced.folder / "nginx.conf"
    kept = (
        f"pid {balanced.folder}/nginx.pid;\nerror_log {balanced.folder}/error.log;\ndaemon off;\n"
    )
    config.write_text(kept + text)
    return ["nginx", "-e", balanced.folder / "error.log", "-c", config]


def caddy(balanced: Balanced) -> list[str | Path]:
    """The command that starts Caddy with the sample."""
    text = sample("Caddyfile", balanced)
    assert "\ntacit.example {" in text
    text = text.replace(
        "\ntacit.example {", f"\n{{\n\tadmin off\n}}\nhttps://{balanced.balancer} {{"
    )
    config = balanced.folder / "Caddyfile"
    config.write_text(text)
    return ["caddy", "run", "--config", config, "--adapter", "caddyfile"]


@contextmanager
def page_socket(client: httpx.Client, url: str, path: str) -> Iterator[ClientConnection]:
    """Load a page as a browser does, and open its web socket."""
    answer = client.get(path)
    assert answer.status_code == 200, answer.headers
    page = re.search(r"""client_id['"]?: ?['"]([0-9a-f-]{36})""", answer.text)
    assert page
    query = {"client_id": page[1], "document_id": "d", "tab_id": "t", "next_message_id": 0,
             "implicit_handshake": "true", "EIO": 4, "transport": "websocket"}  # fmt: skip
    cookies = "; ".join(f"{each.name}={each.value}" for each in client.cookies.jar)
    with connect(
        f"{url.replace('https', 'wss', 1)}/_nicegui_ws/socket.io/?{urlencode(query)}",
        origin=Origin(url),
        additional_headers={"Cookie": cookies},
        ssl=trusting(),
    ) as opened:
        assert str(opened.recv(timeout=60)).startswith("0{")
        opened.send("40")
        yield opened


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.mark.parametrize("balancer", [nginx, caddy], ids=["nginx", "caddy"])
def test_a_session_lives_behind_a_balancer(balanced: Balanced, balancer: Any) -> None:
    if shutil.which(balancer.__name__) is None:
        pytest.skip(f"{balancer.__name__} is not installed")
    balanced.start_balancer(balancer(balanced))
    url = balanced.url
    with httpx.Client(base_url=url, verify=False, timeout=60, headers={"Origin": url}) as client:
        code = balanced.invitation()
        assert client.post("/sign-in", data={"code": code}).headers["location"] == "/access"
        # A page and its socket reach the same process each time.
        for _ in range(6):
            with page_socket(client, url, "/") as opened:
                assert str(opened.recv(timeout=60)).startswith("40{")
        (here,) = set(balanced.served("/"))
        there = next(each for each in balanced.replicas if each != here)
        token = token_of(balanced)
        check_events(balanced, token)
        # The process with the session is gone; the other shows the page, and nobody signs in.
        balanced.kill(here)
        with page_socket(client, url, "/nodes") as opened:
            assert str(opened.recv(timeout=60)).startswith("40{")
        assert set(balanced.served("/nodes")) == {there}
        balanced.start(here)
        balanced.kill(there)
        # nginx leaves out for some seconds what has failed.
        wait_for(lambda: client.get("/sign-in").is_success)
        with page_socket(client, url, "/series") as opened:
            assert str(opened.recv(timeout=60)).startswith("40{")
        assert set(balanced.served("/series")) == {here}
    for address in balanced.replicas:
        for line in (balanced.folder / f"{address}.log").read_text().splitlines():
            assert json.loads(line)["level"] != "error", line
            # The proxy says for whom it asks.
            assert "client_id" not in line


def wait_for(what: Callable[[], bool]) -> None:
    until = time.monotonic() + START_SECONDS
    while not what():
        assert time.monotonic() < until
        time.sleep(0.1)


def token_of(balanced: Balanced) -> str:
    """A token of an operator of its own."""
    database = Database(load_settings(balanced.config).database_url)
    with database.writing() as session:
        create_account(session, "api", "operator")
        code = invite(session, "api", hours=1)[0]
    database.close()
    answer = httpx.post(f"{balanced.url}{API}/join", json={"code": code}, verify=False)
    return str(answer.json()["token"])


def check_events(balanced: Balanced, token: str) -> None:
    """A stream through the balancer has at once what happens in both processes."""
    headers = {"Authorization": f"Bearer {token}"}
    found: list[str] = []
    here, both = threading.Event(), threading.Event()

    def listen() -> None:
        with (
            httpx.Client(verify=False, timeout=60) as client,
            client.stream("GET", f"{balanced.url}{API}/events", headers=headers) as answer,
        ):
            for line in answer.iter_lines():
                if line == ": here":
                    here.set()
                if line.startswith("data: "):
                    found.append(json.loads(line.removeprefix("data: "))["run"])
                if len(found) == 2:
                    both.set()
                    return

    listener = threading.Thread(target=listen)
    listener.start()
    assert here.wait(60)
    made = [
        httpx.post(
            f"https://{address}{API}/runs", headers=headers, json=plain_terms(), verify=False
        ).json()["id"]
        for address in balanced.replicas
    ]
    assert both.wait(60)
    listener.join(60)
    assert found == made
