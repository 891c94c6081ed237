"""The process of a platform that is measured, killed and started again, and of its workers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx

START_SECONDS = 240.0
"""It takes three seconds of a processor; other tests may have most of it."""
PORT_SECONDS = 60.0
"""How long the port may be somebody else's: below those that systems give, but not ours alone."""
ASK_EVERY_SECONDS = 0.05
LAST_LINES = 200


class PlatformProcess:
    """One process after the other, with one log; see `studies.benchmarks.live_platform`."""

    folder: Path
    config: Path
    http: httpx.Client
    process: subprocess.Popen[bytes] | None

    def start(self) -> float:
        """Start the platform; the seconds until it answers."""
        begun = time.monotonic()
        while True:
            said = len(self.log())
            process = self.process = self._launch()
            try:
                self._wait_until_it_answers(process)
            except RuntimeError:
                taken = "address already in use" in self.log()[said:]
                if not taken or time.monotonic() - begun > PORT_SECONDS:
                    raise
                time.sleep(ASK_EVERY_SECONDS)
            else:
                return time.monotonic() - begun

    def _launch(self) -> subprocess.Popen[bytes]:
        with (self.folder / "platform.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tacit", "service", "run", "--config", self.config],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # A crash says where it was.
                env={**os.environ, "PYTHONFAULTHANDLER": "1"},
            )

    def _wait_until_it_answers(self, process: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                if self.http.get("/health", timeout=5.0).is_success:
                    return
            except httpx.TransportError:
                time.sleep(ASK_EVERY_SECONDS)
            if process.poll() is not None or time.monotonic() > until:
                process.send_signal(signal.SIGABRT)  # one that hangs says where
                code = process.wait()
                self.process = None
                raise RuntimeError(f"the platform did not start ({code}):\n{self.last_lines()}")

    def kill(self) -> None:
        """End it as a crash would; nothing else is told."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def death(self) -> str:
        """How it ended by itself and what it said last, or nothing."""
        if self.process is None or self.process.poll() is None:
            return ""
        return f"the platform ended by itself ({self.process.returncode}):\n{self.last_lines()}"

    def cpu_seconds(self) -> float:
        """What the main process has computed so far: how long it takes where nothing else runs."""
        if self.process is None:
            return 0.0
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        used = re.sub(r"\(.*\)", "", text).split()[12:14]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    def log(self) -> str:
        path = self.folder / "platform.log"
        return path.read_text() if path.exists() else ""

    def last_lines(self) -> str:
        """The end of the log without requests, which are most of it."""
        lines = (line for line in self.log().splitlines() if '"message":"request"' not in line)
        return "\n".join(list(lines)[-LAST_LINES:])

    def stored_late(self) -> dict[str, float]:
        """How long after its deadline each run's answer was stored, as the platform logged it."""
        lines = (line for line in self.log().splitlines() if '"run ended"' in line)
        return {entry["run"]: entry["stored_late_by"] for entry in map(json.loads, lines)}

    def workers(self) -> list[int]:
        """The processes whose parent is the server that this platform's workers come from."""
        if self.process is None:
            return []
        return [each for child in _children(self.process.pid) for each in _children(child)]

    def stop_workers(self) -> None:
        for each in self.workers():
            os.kill(each, signal.SIGSTOP)


def _children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = re.sub(r"\(.*\)", "", stat.read_text()).split()
        except OSError:
            continue
        if int(fields[2]) == pid:
            found.append(int(fields[0]))
    return found
