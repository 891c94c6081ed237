"""A platform of several processes by the files in deploy/: PostgreSQL, two APIs, two workers.

`podman kube play` runs the manifests, podman-compose the other. The nodes are on this machine, the
images of deploy/Containerfile and of Debian's packages.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped, unused-ignore]

from tacit.local.cluster import free_addresses
from tests.deployment.deployment import Deployment
from tests.deployment.figures import Figures
from tests.deployment.forwarder import Forwarder
from tests.deployment.parties import Server, slots
from tests.deployment.podman import ROOT, Network, Podman, why_not
from tests.deployment.test_containers import CONTAINER_USER, GENETIC, LATE, _give, _rewrite

REASON = why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON)

DEPLOY = ROOT / "deploy"
DEADLINE = 60.0
PASSWORD = "not a secret"
START_SECONDS = 180.0
NETWORK = "compose_default"


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    made = Podman()
    base = made.base()
    made.build("platform", base)
    for name in ("postgres:17", "nginx:1"):
        made.build_stand_in(name, base)
    yield made
    made.close()


class Parts(Server):
    """Everything of the platform; its containers are found by their names."""

    def __init__(self, podman: Podman, folder: Path, settings: Path) -> None:
        super().__init__((), folder / "parts.log")
        self.podman, self.folder, self.settings = podman, folder, settings

    def check(self) -> None:
        """They start again until the database is there, so that no state is an error by itself."""

    def said(self) -> str:
        return "\n".join(self.podman("logs", "--tail", "30", name) for name in self.containers())

    def containers(self, what: str = "") -> list[str]:
        """The names of those that run."""
        names = self.podman("ps", "--format", "{{.Names}}").splitlines()
        return sorted(each for each in names if what in each and "infra" not in each)

    def wait_for_database(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            found = self.containers("postgres") or self.containers("database")
            words = ("psql", "-h", "127.0.0.1", "-U", "tacit", "-c", "SELECT 1", "tacit")
            ask = ("exec", "--env", f"PGPASSWORD={PASSWORD}", *found[:1], *words)
            if found and "1 row" in self.podman(*ask, check=False):
                return
            assert time.monotonic() < until, self.said()
            time.sleep(0.5)


class Pods(Parts):
    """The manifests of deploy/kubernetes.yaml, and a stand-in for the service in front."""

    def __init__(
        self, podman: Podman, folder: Path, settings: Path, network: Network, listen: str
    ) -> None:
        super().__init__(podman, folder, settings)
        self._network, self._listen = network, listen
        self._played: list[Path] = []
        self._service: Forwarder | None = None

    def start(self) -> None:
        documents = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
        volumes = [each for each in documents if each["kind"] == "PersistentVolumeClaim"]
        deployments = {each["metadata"]["name"]: each for each in documents if "spec" in each}
        deployments = {k: v for k, v in deployments.items() if v["kind"] == "Deployment"}
        assert list(deployments) == ["tacit-database", "tacit-api", "tacit-worker"]
        for name, found in deployments.items():
            path = self.folder / f"{name}.yaml"
            path.write_text(yaml.safe_dump_all([*volumes, self._here(found)]))
            volumes = []
            self.podman("kube", "play", "--network", f"{self._network.name}:alias={name}", path)
            self._played.append(path)
            if name == "tacit-database":
                self.wait_for_database()
        self._service = Forwarder(self._listen, [f"{each}:8443" for each in self.addresses()])

    def _here(self, deployment: dict[str, Any]) -> dict[str, Any]:
        """As this version of Podman can: secrets are files and values.

        It would also publish the port of each pod on this machine, and probe by systemd.
        """
        pod = deployment["spec"]["template"]["spec"]
        for key in ("ports", "livenessProbe", "readinessProbe"):
            pod["containers"][0].pop(key, None)
        for volume in pod["volumes"]:
            if volume.pop("secret", None):
                volume["hostPath"] = {"path": str(self.settings), "type": "Directory"}
        for each in pod["containers"][0].get("env", ()):
            if each.pop("valueFrom", None):
                each["value"] = PASSWORD
        return deployment

    def addresses(self) -> list[str]:
        """Of the pods with an API."""
        names = [f"tacit-api-pod-{number}" for number in range(2)]
        infra = [
            self.podman("pod", "inspect", "--format", "{{.InfraContainerID}}", name)
            for name in names
        ]
        show = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
        return [self.podman("inspect", "--format", show, each) for each in infra]

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:  # noqa: ARG002 - as all servers
        if self._service is not None:
            self._service.close()
        for path in reversed(self._played):
            self.podman("kube", "down", path, check=False)
        self._played.clear()
        self.podman("volume", "rm", "--force", "tacit-database", check=False)
        return 0


class Composed(Parts):
    """deploy/compose.yaml."""

    port = ""
    """Of the balancer, on this machine."""

    def start(self) -> None:
        place = self.folder / "compose"
        place.mkdir()
        shutil.copy(DEPLOY / "compose.yaml", place)
        apis = {f"10.0.0.1{number}:8443": f"api-{number}:8443" for number in (1, 2)}
        _rewrite(DEPLOY / "nginx.conf", place / "nginx.conf", apis)
        (place / "database.password").write_text(PASSWORD)
        # This version of podman-compose makes networks without their subnets.
        self.podman("network", "create", "--subnet", "10.0.0.0/24", NETWORK)
        self._compose("up", "--detach", "database")
        self.wait_for_database()
        self._compose("up", "--detach")

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:  # noqa: ARG002 - as all servers
        self._compose("down", "--volumes", check=False)
        self.podman("network", "rm", "--force", NETWORK, check=False)
        return 0

    def _compose(self, *words: str, check: bool = True) -> None:
        file = self.folder / "compose" / "compose.yaml"
        self.podman.compose(
            file, *words, check=check, TACIT_CONFIG=str(self.settings), TACIT_PORT=self.port
        )


class InParts(Deployment):
    """Nodes as processes that containers reach; the platform's files where its parts look."""

    platform: Parts

    def __init__(self, folder: Path, gateway: str, url: str, **settings: str | int | bool) -> None:
        ports = [each.rpartition(":")[2] for each in free_addresses(3)]
        nodes = [f"{gateway}:{port}" for port in ports]
        listen = [f"0.0.0.0:{port}" for port in ports]
        super().__init__(
            folder, nodes, url, listen=[*listen, "0.0.0.0:8443"], names=["tacit.example"]
        )
        self.settings = folder / "etc"
        self.settings.mkdir()
        self.settings.chmod(0o755)
        for path in [
            *self.cluster.glob("*.pem"),
            *(self.web / n for n in ("service.pem", "ca.pem")),
        ]:
            _give(path, self.settings)
        for path in (
            self.cluster / "platform.tls.key",
            self.web / "service.tls.key",
            self.web / "webhooks.key",
        ):
            _give(path, self.settings)
        _give(self.cluster / "cluster.toml", self.settings)
        _rewrite(
            self.web / "service.toml",
            self.settings / "service.toml",
            {
                '"sqlite:///tacit.db"': f'"{settings.pop("database")}"',
                'data = "data"': 'data = "/var/lib/tacit/data"',
                str(self.cluster / "cluster.toml"): "cluster.toml",
                **{str(before): str(after) for before, after in settings.items()},
            },
        )

    def invitation(self) -> str:
        (api, *_) = self.platform.containers("api")
        words = ("tacit", "service", "invite", "desk", "--config", "/etc/tacit/service.toml")
        return self.platform.podman("exec", api, *words)


def a_run_survives(deployment: InParts, figures: Figures) -> None:
    """The worker that has a run is killed, and an API: another worker ends it, in time."""
    operator, parts = deployment.operator, deployment.platform
    assert (len(parts.containers("api")), len(parts.containers("worker"))) == (2, 2)
    run = deployment.start_run(slots(12, DEADLINE, **GENETIC))
    operator.until(run, lambda found: found["progress"] is not None)
    before = operator.generation(run)
    words = (
        "psql",
        "-h",
        "127.0.0.1",
        "-U",
        "tacit",
        "-tAc",
        f"SELECT owner FROM run WHERE id = '{run}'",
    )
    database = (parts.containers("postgres") or parts.containers("database"))[0]
    owner = parts.podman("exec", "--env", f"PGPASSWORD={PASSWORD}", database, *words, "tacit")
    killed = [
        name
        for name in parts.containers("worker")
        if owner.startswith(parts.podman("exec", name, "cat", "/etc/hostname"))
    ]
    assert len(killed) == 1, (owner, parts.containers())
    killed.append(parts.containers("api")[0])
    parts.podman("kill", *killed)
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


def test_the_manifests_run_by_kube_play(podman: Podman, tmp_path: Path, figures: Figures) -> None:
    (listen,) = free_addresses(1)
    with podman.network() as network:
        database = "postgresql+psycopg://tacit@tacit-database/tacit"
        deployment = InParts(tmp_path, network.gateway, listen, database=database)
        deployment.platform = Pods(podman, tmp_path, deployment.settings, network, listen)
        with deployment:
            a_run_survives(deployment, figures)


@pytest.mark.skipif(
    shutil.which("podman-compose") is None, reason="install Debian's podman-compose"
)
def test_the_parts_run_by_compose(podman: Podman, tmp_path: Path, figures: Figures) -> None:
    (listen,) = free_addresses(1)
    database = "postgresql+psycopg://tacit@database/tacit"
    proxies = {
        "behind_proxy = false": "behind_proxy = true",
        'proxies = ["127.0.0.1", "::1"]': 'proxies = ["10.0.0.0/24"]',
    }
    deployment = InParts(tmp_path, "10.0.0.1", listen, database=database, **proxies)
    secret = deployment.settings / "pgpass"
    secret.write_text(f"database:5432:tacit:tacit:{PASSWORD}\n")
    os.chown(secret, CONTAINER_USER, CONTAINER_USER)
    secret.chmod(0o400)
    deployment.platform = Composed(podman, tmp_path, deployment.settings)
    deployment.platform.port = listen.rpartition(":")[2]
    with deployment:
        a_run_survives(deployment, figures)
