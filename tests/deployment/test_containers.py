"""The images of deploy/Containerfile: three nodes and a platform, and a participant outside."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tacit.local.cluster import free_addresses
from tests.deployment.deployment import Deployment
from tests.deployment.figures import Figures
from tests.deployment.parties import Server, slots
from tests.deployment.podman import Podman, why_not

REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

CONTAINER_USER = 10001
DEADLINE = 30.0
LATE = 1.0
GENETIC = {
    "objective": {"disclosure": "top:15"},
    "parameters": {"population": 100, "elites": 15},
}


class Container(Server):
    """A server in a container of its own, with a folder for its settings and a volume."""

    def __init__(self, podman: Podman, name: str, image: str, settings: Path) -> None:
        super().__init__((name,), settings.with_suffix(".log"))
        self._podman, self.name, self._image, self._settings = podman, name, image, settings
        self._is_made = False

    def start(self) -> None:
        if self._is_made:
            self._podman("start", self.name)
        else:
            self._podman.run(self.name, self._image, self._settings)
            self._is_made = True

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        if self._is_made:
            self._podman("kill", "--signal", how.name, self.name, check=False)
        return 0

    def check(self) -> None:
        state = self._podman("inspect", "--format", "{{.State.Status}}", self.name)
        assert state == "running", (self.name, state, self.said())

    def said(self) -> str:
        return self._podman("logs", "--tail", "40", self.name)


class InContainers(Deployment):
    """The same as on hosts; each operator's files go where its container looks for them."""

    def __init__(self, folder: Path, podman: Podman) -> None:
        *addresses, platform = free_addresses(4)
        super().__init__(folder, addresses, platform)
        self._podman, mark = podman, secrets.token_hex(3)
        for i in range(3):
            settings = self._settings(f"node-{i}", [f"node-{i}.key", f"node-{i}.tls.key"])
            changed = {f'"node-{i}.data"': '"/var/lib/tacit/node"'}
            _rewrite(self.cluster / f"node-{i}.toml", settings / "node.toml", changed)
            self.nodes[i] = Container(podman, f"tacit-{mark}-{i}", "tacit-node", settings)
        settings = self._settings("platform", ["cluster.toml", "platform.tls.key"])
        for name in ("service.pem", "service.tls.key", "webhooks.key"):
            _give(self.web / name, settings)
        changed = {
            "sqlite:///tacit.db": "sqlite:////var/lib/tacit/tacit.db",
            'data = "data"': 'data = "/var/lib/tacit/data"',
            str(self.cluster / "cluster.toml"): "cluster.toml",
        }
        _rewrite(self.web / "service.toml", settings / "service.toml", changed)
        self.platform = Container(podman, f"tacit-{mark}-platform", "tacit-platform", settings)

    def _settings(self, name: str, files: Sequence[str]) -> Path:
        folder = self.folder / f"etc-{name}"
        folder.mkdir()
        for each in (*files, *(path.name for path in self.cluster.glob("*.pem"))):
            _give(self.cluster / each, folder)
        return folder

    def invitation(self) -> str:
        assert isinstance(self.platform, Container)
        words = ("tacit", "service", "invite", "desk", "--config", "/etc/tacit/service.toml")
        return self._podman("exec", self.platform.name, *words)


def _rewrite(file: Path, copy: Path, changed: dict[str, str]) -> None:
    text = file.read_text()
    for before, after in changed.items():
        assert before in text, (file, before)
        text = text.replace(before, after)
    copy.write_text(text)


def _give(file: Path, folder: Path) -> None:
    """A copy; a secret one belongs to the container's user alone."""
    copy = Path(shutil.copy(file, folder))
    if copy.suffix == ".key":
        os.chown(copy, CONTAINER_USER, CONTAINER_USER)
        copy.chmod(0o400)


@pytest.fixture
def podman() -> Iterator[Podman]:
    made = Podman()
    yield made
    made.close()


def test_a_run_ends_well_although_a_container_is_killed(
    podman: Podman, tmp_path: Path, figures: Figures
) -> None:
    base = podman.base()
    for target in ("node", "platform"):
        podman.build(target, base)
    with InContainers(tmp_path, podman) as deployment:
        operator = deployment.operator
        run = deployment.start_run(slots(12, DEADLINE, **GENETIC))
        operator.until(run, lambda found: found["progress"] is not None)
        time.sleep(3.0)
        before = operator.generation(run)
        deployment.nodes[1].end(signal.SIGKILL)
        time.sleep(2.0)
        deployment.nodes[1].start()
        ended = operator.wait(run, "finished")
        outcome = operator.call("GET", f"/runs/{run}/result")
        figures.add(
            generations_before_the_kill=before,
            generations=ended["progress"]["generation"],
            late_by_seconds=outcome["late_by_seconds"],
            reason=ended["reason"],
        )
        assert ended["progress"]["generation"] > before
        assert outcome["late_by_seconds"] < LATE
        deployment.check_by_participants(run, killed=True)
        for each in deployment.servers:
            each.check()
        for each, asks in ((deployment.platform, True), (deployment.nodes[0], False)):
            assert isinstance(each, Container)
            notices = podman("exec", each.name, "cat", "/opt/tacit/THIRD-PARTY-NOTICES.txt")
            assert ("psycopg 3" in notices) is asks
            assert "GNU LESSER GENERAL PUBLIC LICENSE" in notices


def test_a_base_by_its_tag_is_refused(podman: Podman) -> None:
    podman.base()
    with pytest.raises(RuntimeError, match="by its digest"):
        podman.build("node", "localhost/python:bookworm")
