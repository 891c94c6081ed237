"""`tacit service`, as an operator uses it: a real process with TLS."""

from __future__ import annotations

import json
import signal
import ssl
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tacit.cli import service
from tacit.errors import InputError
from tacit.identity.cluster import write_cluster
from tacit.local import free_addresses
from tests.conftest import RunTacit


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    return write_cluster(tmp_path / "cluster", [f"127.0.0.1:{9100 + i}" for i in range(3)])[-1]


def pinned(folder: Path) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    return httpx.Client(verify=context, timeout=30)


def test_init_invite_run_and_stop(
    run_tacit: RunTacit, run_here: RunTacit, cluster: Path, tmp_path: Path
) -> None:
    folder, address = tmp_path / "platform", free_addresses(1)[0]
    made = run_here("service", "init", folder, "--cluster", cluster, "--listen", address)
    assert made.returncode == 0, made.stderr
    assert stat.S_IMODE((folder / "service.tls.key").stat().st_mode) == 0o600
    config = folder / "service.toml"
    code = run_here("service", "invite", "op", "--config", config).stdout.strip()
    assert code.startswith("tci_")

    command = [sys.executable, "-m", "tacit", "service", "run", "--config", str(config)]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log) as process,
    ):
        try:
            # Its connections end before the platform is stopped, which would wait for them.
            with pinned(folder) as client:
                url = f"https://{address}/api/v1"
                wait_for(client, f"{url}/health", process)
                joined = client.post(f"{url}/join", json={"code": code}).json()
                token = {"Authorization": f"Bearer {joined['token']}"}
                assert client.get(f"{url}/me", headers=token).json()["role"] == "operator"
                # Another process writes while the platform runs.
                words = ("service", "invite", "eye", "--role", "viewer", "--config", config)
                again = run_tacit(*words).stdout.strip()
                assert client.post(f"{url}/join", json={"code": again}).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
        process.wait(240)
    lines = (tmp_path / "log").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert any(f"running on https://{address}" in entry["message"] for entry in entries)
    asked = [entry["path"] for entry in entries if entry["message"] == "request"]
    assert "/api/v1/me" in asked
    assert joined["token"] not in str(lines)
    assert code not in str(lines)


def wait_for(client: httpx.Client, url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and process.poll() is None:
        try:
            if client.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail("the platform does not answer")


def test_mistakes_are_one_line(run_tacit: RunTacit, tmp_path: Path) -> None:
    done = run_tacit("service", "run", "--config", "none.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "make it with tacit service init" in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_roles_and_clusters_are_checked(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match=r"give the cluster\.toml of a cluster"):
        service.init(tmp_path / "p", [tmp_path / "none.toml"])
    service.init(tmp_path / "p", [cluster])
    config = tmp_path / "p" / "service.toml"
    service.migrate(config)
    assert capsys.readouterr().out.endswith("the database is up to date\n")
    with pytest.raises(InputError, match="is not a valid account"):
        service.invite("a b", config)
    service.invite("op", config)
    with pytest.raises(InputError, match="invite it with --role operator"):
        service.invite("op", config, "viewer")
