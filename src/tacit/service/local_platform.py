"""Run a cluster and a platform on this machine, as processes, in a `with` block.

For the demo and for tests from end to end. Real TLS everywhere; everything is gone afterwards.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tacit.client import PlatformClient
from tacit.errors import EngineError, UnreachableError
from tacit.identity import LOCAL_PREFIX
from tacit.local import LocalCluster, free_addresses, memory_folder
from tacit.service.access.credentials import invite
from tacit.service.server.settings import Settings, load_settings, write_settings
from tacit.service.storage import Database, create_account

START_SECONDS = 60.0
STOP_SECONDS = 15.0


class LocalPlatform:
    """A platform with its cluster in temporary folders."""

    def __init__(self, *, nodes: int = 3) -> None:
        self._listen = free_addresses(1)[0]
        self.cluster = LocalCluster(nodes=nodes)
        self.folder = Path()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"https://{self._listen}"

    @property
    def certificate(self) -> Path:
        """What participants pin."""
        return self.folder / "platform" / "ca.pem"

    @property
    def settings(self) -> Settings:
        return load_settings(self.folder / "platform" / "service.toml")

    def __enter__(self) -> LocalPlatform:
        """Start the nodes, then the platform."""
        self.folder = Path(tempfile.mkdtemp(prefix=LOCAL_PREFIX, dir=memory_folder()))
        try:
            self.cluster.__enter__()
            write_settings(
                self.folder / "platform",
                clusters=[self.cluster.folder / "cluster.toml"],
                listen=self._listen,
                url=self.url,
            )
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the platform, then the nodes, and remove their folders."""
        self.stop()

    def start(self) -> None:
        """Start the platform's process and wait until it answers."""
        with (self.folder / "platform.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tacit.service.server.serve",
                    str(self.folder / "platform" / "service.toml"),
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                # Ctrl-C reaches the whole process group of the parent. The platform is not in it,
                # and stops when its parent closes its input.
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                said = (self.folder / "platform.log").read_text()[-1000:].strip()
                raise EngineError(f"the platform did not start: {said}")
            time.sleep(0.05)

    def invitation(self, name: str, /, *, role: str) -> str:
        """A one-time code for a new account, as `tacit service invite` makes it."""
        database = Database(self.settings.database_url)
        try:
            with database.writing() as session:
                create_account(session, name, role)
                return invite(session, name, hours=1.0)[0]
        finally:
            database.close()

    def stop(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        self.cluster.stop()
        if self.folder != Path():
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder = Path()

    def _answers(self) -> bool:
        try:
            with PlatformClient(self.url, ca=self.certificate, timeout=2.0) as client:
                return client.health().status == "ok"
        except UnreachableError:
            return False
