"""Images and containers by Podman, in a store of their own that goes with them.

No registry of images is needed: the base comes from Debian's packages by debootstrap. It is made
once and kept in build/containers; the images of deploy/Containerfile are built on it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = (ROOT / "build" / "containers").resolve()
RELEASE = "bookworm"
BASE = "localhost/python"
PROGRAMS = ("podman", "runc", "debootstrap")
LIMITS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
"""Explicit ones, since an inherited limit may be higher than this machine lets a container have."""
STAND_INS = {
    # As the image of the same name on Docker's registry, as far as deploy/ uses it.
    "postgres:17": """\
FROM {base}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends postgresql >/dev/null \\
    && install -d -o postgres -g postgres /var/lib/postgresql/data /var/run/postgresql
COPY start /start
ENV PGDATA=/var/lib/postgresql/data
ENTRYPOINT ["/bin/sh", "-eu", "/start"]
""",
    "nginx:1": """\
FROM {base}
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends nginx >/dev/null
ENTRYPOINT ["nginx", "-g", "daemon off;"]
""",
}
START_POSTGRES = """\
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
if test "$(id -u)" = 0; then
    test -z "${POSTGRES_PASSWORD_FILE:-}" || POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export POSTGRES_PASSWORD
    mkdir -p "$PGDATA"
    chown -R postgres /var/lib/postgresql "$PGDATA"
    exec setpriv --reuid postgres --regid postgres --init-groups sh -eu /start
fi
if ! test -s "$PGDATA/PG_VERSION"; then
    chmod 700 "$PGDATA"
    echo "$POSTGRES_PASSWORD" > /tmp/password
    initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile /tmp/password -A scram-sha-256 \\
        -E UTF8 --locale C.UTF-8
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -D "$PGDATA" -c listen_addresses='*'
"""
PACKAGES = "python3,python3-venv,python-is-python3,ca-certificates"


def why_not() -> str:
    """Why there can be no containers here, or nothing."""
    if os.geteuid() != 0:
        return "containers of this test need root"
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"install Debian's {' '.join(missing)}" if missing else ""


@dataclass(frozen=True)
class Network:
    """A network of containers, in which this machine is the gateway."""

    name: str
    gateway: str


class Podman:
    """A store of images and containers, apart from the machine's own."""

    def __init__(self) -> None:
        store, run = FOLDER / "store", FOLDER / "run"
        self._command = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs"]
        self._command += ["--root", str(store), "--runroot", str(run)]
        self._names: list[str] = []
        FOLDER.mkdir(parents=True, exist_ok=True)
        # Of what no option says so: `kube play` and podman-compose.
        settings = FOLDER / "containers.conf"
        settings.write_text(f"[containers]\ndefault_ulimits = {json.dumps(LIMITS[1::2])}\n")
        self._environment = {**os.environ, "CONTAINERS_CONF": str(settings)}

    def __call__(self, *words: str | Path, check: bool = True) -> str:
        return self._run([*self._command, *map(str, words)], {}, check=check)

    def _run(self, command: Sequence[str], environment: dict[str, str], *, check: bool) -> str:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**self._environment, **environment},
        )
        if check and done.returncode:
            what = " ".join(command[-4:])
            raise RuntimeError(f"{what}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout.strip()

    def compose(self, file: Path, *words: str, check: bool = True, **environment: str) -> None:
        """podman-compose in this store."""
        script = FOLDER / "podman"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(self._command)} "$@"\n')
        script.chmod(0o755)
        command = ["podman-compose", "--podman-path", str(script), "--file", str(file), *words]
        self._run(command, environment, check=check)

    @contextmanager
    def network(self) -> Iterator[Network]:
        """One of its own, which goes with the block."""
        name = f"tacit-{secrets.token_hex(3)}"
        self("network", "create", name)
        try:
            gateway = "{{(index .Subnets 0).Gateway}}"
            yield Network(name, self("network", "inspect", "--format", gateway, name))
        finally:
            self("network", "rm", "--force", name, check=False)

    def base(self) -> str:
        """The base image by its digest, as deploy/Containerfile wants it."""
        if not self("images", "--quiet", BASE):
            self("import", _packed(), f"{BASE}:{RELEASE}")
        digest = self("image", "inspect", "--format", "{{.Digest}}", f"{BASE}:{RELEASE}")
        return f"{BASE}@{digest}"

    def build(self, target: str, base: str) -> None:
        """An image of deploy/Containerfile; pip in it uses what pip here is set up for."""
        words = ["build", "--network", "host", *LIMITS, *_pip_as_here()]
        words += ["--build-arg", f"BASE={base}", "--target", target, "--tag", f"tacit-{target}"]
        self(*words, "--file", ROOT / "deploy" / "Containerfile", ROOT)

    def build_stand_in(self, name: str, base: str) -> None:
        """An image of Debian's packages in place of one that a registry would have."""
        folder = FOLDER / name.partition(":")[0]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "start").write_text(START_POSTGRES)
        (folder / "Containerfile").write_text(STAND_INS[name].format(base=base))
        words = ("build", "--network", "host", *LIMITS, "--tag", f"localhost/{name}")
        self(*words, "--file", folder / "Containerfile", folder)

    def run(self, name: str, image: str, settings: Path) -> None:
        """A container as docs/deploy.md starts it, on the network of this machine."""
        self._names.append(name)
        safe = ("--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges")
        rest = ("--tmpfs", "/tmp", "--network", "host", *LIMITS)
        places = (f"{settings}:/etc/tacit:ro", f"{name}:/var/lib/tacit")
        mounts = [word for place in places for word in ("--volume", place)]
        self("run", "--detach", "--name", name, *safe, *rest, *mounts, image)

    def close(self) -> None:
        """Remove the containers and their volumes; the images are kept for the next time."""
        for name in self._names:
            self("rm", "--force", "--time", "0", name, check=False)
            self("volume", "rm", "--force", name, check=False)
        self._names.clear()


def _packed() -> Path:
    """A small Debian with Python as a tar file."""
    packed = FOLDER / f"{RELEASE}.tar"
    if not packed.exists():
        root, part = FOLDER / "root", packed.with_suffix(".part")
        shutil.rmtree(root, ignore_errors=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        words = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(root)]
        subprocess.run([*words, *_mirror()], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["tar", "-C", root, "-cf", part, "."], check=True)
        part.rename(packed)
        shutil.rmtree(root)
    return packed


def _mirror() -> Sequence[str]:
    """Where apt of this machine gets the release from."""
    words = ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE)"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[0] for line in listed if line.endswith(f" {RELEASE}")][:1]


def _pip_as_here() -> list[str]:
    """The settings of pip on this machine, and the files that they name, for a build."""
    listed = subprocess.run(["pip", "config", "list"], capture_output=True, text=True, check=True)
    settings: dict[str, str] = {}
    for line in listed.stdout.splitlines():
        name, value = line.split("=", 1)
        settings[name.split(".")[-1]] = value.strip("'")
    FOLDER.mkdir(parents=True, exist_ok=True)
    own = FOLDER / "pip.conf"
    own.write_text("\n".join(["[global]", *(f"{k} = {v}" for k, v in settings.items())]) + "\n")
    named = re.findall(r"(?:file://|(?<![\w/:]))(/[^\s']+)", " ".join(settings.values()))
    places = {Path(each).parent if each.endswith("/simple") else Path(each) for each in named}
    mounts = [f"{own}:/etc/pip.conf:ro"]
    mounts += [f"{each}:{each}:ro" for each in sorted(places) if each.exists()]
    return [word for mount in mounts for word in ("--volume", mount)]
