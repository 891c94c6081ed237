"""Three nodes and a platform by docs/deploy.md: as root, each on a host of its own, as far as a
machine without systemd as its first process goes.

Each host is a mount namespace with /etc, /opt and /var/lib of its own. Lines that call systemctl
are left out; what the unit that was copied would start is started as its user, with its
configuration read-only and home folders hidden. `make first-run`.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from tacit.local import free_addresses
from tests.support.document_commands import commands
from tests.support.repository import ROOT

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif("TACIT_FIRST_RUN" not in os.environ, reason="make first-run"),
    pytest.mark.skipif(os.geteuid() != 0, reason="hosts are set up by root"),
]
PAGE = (ROOT / "docs" / "deploy.md").read_text()
NODES = ("alpha", "beta", "gamma")
SECONDS = 300
HIDE = "for place in /home /root; do mount -t tmpfs -o size=1m none $place; done; "


class Host:
    """A machine with users, configuration and data of its own, on the same network."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        shutil.copytree("/etc", folder / "etc", symlinks=True)
        (folder / "lib").mkdir(parents=True)
        for each in ("bin", "src", "packages", "python"):
            (folder / "opt" / "tacit" / each).mkdir(parents=True)
        # In place of what pip would install, which `make release` tries; as it may well lie where
        # other users do not come, it is mounted.
        python = f"/opt/tacit/python/bin/{Path(sys.executable).resolve().name}"
        script = folder / "opt" / "tacit" / "bin" / "tacit"
        script.write_text(
            "#!/bin/sh\nexport PYTHONPATH=/opt/tacit/src:/opt/tacit/packages "
            "LD_LIBRARY_PATH=/opt/tacit/python/lib\n"
            f"exec {python} -c 'from tacit.cli import main; main()' \"$@\"\n"
        )
        script.chmod(0o755)
        self.running: list[subprocess.Popen[bytes]] = []

    def _start(self, text: str) -> subprocess.Popen[bytes]:
        inside = "".join(
            f"mount --bind {self.folder / own} {place}; "
            for own, place in (("etc", "/etc"), ("opt", "/opt"), ("lib", "/var/lib"))
        )
        for own, place in (
            (ROOT / "src", "src"),
            (Path(np.__file__).parent.parent, "packages"),
            (sys.base_prefix, "python"),
        ):
            inside += f"mount --bind {own} /opt/tacit/{place}; "
        with (self.folder / "said").open("ab") as said:
            return subprocess.Popen(
                ["unshare", "--mount", "bash", "-eu", "-c", f"{inside}\ncd {ROOT}\n{text}"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def type(self, text: str) -> None:
        lines = [line for line in text.splitlines() if not line.startswith("systemctl")]
        code = self._start("\n".join(lines)).wait(SECONDS)
        assert code == 0, f"{text}\n{self.said}"

    def start_unit(self) -> None:
        (unit,) = (self.folder / "etc/systemd/system").glob("tacit-*.service")
        found = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(), flags=re.MULTILINE))
        readonly = "mount --bind /etc/tacit /etc/tacit; mount -o remount,bind,ro /etc/tacit; "
        start = f"cd {found['WorkingDirectory']}; umask {found['UMask']}; "
        user = f"--reuid={found['User']} --regid={found['Group']} --clear-groups"
        start += f"exec setpriv {user} --no-new-privs {found['ExecStart']}"
        self.running.append(self._start(readonly + HIDE + start))

    @property
    def said(self) -> str:
        return (self.folder / "said").read_text()


@pytest.fixture
def place() -> Path:
    """Where another user may read: the folders of pytest are for their owner alone."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="tacit-hosts-", dir="/var/tmp"))
    folder.chmod(0o755)
    return folder


def test_hosts_are_set_up_by_the_document_alone(place: Path) -> None:
    *addresses, platform = free_addresses(4)
    common = {**os.environ, "POST": str(place / "post"), "PLATFORM": platform, "LISTEN": platform}
    common["NUMBA_CACHE_DIR"] = str(place / "kernels")
    (place / "post").mkdir()
    (place / "kernels").mkdir(mode=0o777)
    (place / "kernels").chmod(0o777)
    hosts = {
        name: Host(place / name, common | {"NAME": name, "ADDRESS": address})
        for name, address in zip((*NODES, "desk"), [*addresses, ""], strict=True)
    }
    blocks = {
        who: [block.text for block in commands(PAGE, ("node", "platform")) if who in block.parties]
        for who in ("node", "platform")
    }
    assert [len(each) for each in blocks.values()] == [3, 3]
    try:
        for stage in range(3):
            for name, host in hosts.items():
                text = blocks["platform" if name == "desk" else "node"][stage]
                before, _, after = text.partition("systemctl enable")
                host.type(before)
                if after:
                    host.start_unit()
                if name == "desk" and after:
                    answers(platform, place / "desk" / "etc/tacit/ca.pem", host)
                    host.type(after.partition("\n")[2])
            for half in place.glob("*/etc/tacit/**/*.public.toml"):
                shutil.copy(half, place / "post")
        assert re.search(r"^tci_\S+$", hosts["desk"].said, flags=re.MULTILINE)
        together = {re.search(r"all together: (.+)", each.said)[1] for each in hosts.values()}  # type: ignore[index]
        assert len(together) == 1
        for name, host in hosts.items():
            assert [each.poll() for each in host.running] == [None], host.said
            data = [*(place / name / "lib/tacit").rglob("*")]
            files = [*data, *(place / name / "etc/tacit").rglob("*")]
            assert len(data) > 2
            assert all(path.stat().st_uid != 0 for path in files)
            for secret in (path for path in files if path.suffix == ".key"):
                assert secret.stat().st_mode & 0o077 == 0
    finally:
        for host in hosts.values():
            for each in host.running:
                with suppress(ProcessLookupError):
                    os.killpg(each.pid, signal.SIGTERM)
                try:
                    each.wait(60)
                finally:
                    each.kill()
        shutil.rmtree(place)


def answers(platform: str, ca: Path, host: Host) -> None:
    """The platform is there, behind a certificate that curl verifies, and knows its nodes."""
    words = ["curl", "--silent", "--cacert", str(ca), f"https://{platform}/api/v1/health"]
    until = time.monotonic() + SECONDS
    while b"ok" not in subprocess.run(words, capture_output=True, check=False).stdout:
        assert time.monotonic() < until, host.said
        assert host.running[0].poll() is None, host.said
        time.sleep(0.5)
