"""The rules of deploy/monitoring as Prometheus' own tool reads them, and what they raise."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deployment.podman import ROOT

FOLDER = ROOT / "deploy" / "monitoring"
KEPT = ROOT / "build" / "prometheus"


@pytest.fixture(scope="module")
def promtool() -> str:
    """Debian's, taken out of its package: nothing is installed, and no server starts."""
    if found := shutil.which("promtool"):
        return found
    program = KEPT / "usr" / "bin" / "promtool"
    if not program.exists():
        if shutil.which("apt-get") is None:
            pytest.skip("install Debian's prometheus")
        KEPT.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "download", "-qq", "prometheus"], cwd=KEPT, check=True)
        (package,) = KEPT.glob("prometheus_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, KEPT], check=True)
    return str(program)


def test_rules_are_sound_and_raise_what_they_say(promtool: str, tmp_path: Path) -> None:
    for path in FOLDER.glob("*.yaml"):
        shutil.copy(path, tmp_path)
    for name in ("ca.pem", "operator.token"):  # those that the configuration names
        (tmp_path / name).touch()
    for words in (
        ("check", "rules", "alerts.yaml"),
        ("test", "rules", "alerts.test.yaml"),
        ("check", "config", "prometheus.yaml"),
    ):
        done = subprocess.run(
            [promtool, *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
