"""A platform in a process of its own on clusters of real nodes, and its users, over HTTPS.

For measurements and for tests that kill it: its process and its workers are started again.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from tacit.agreement.sealing import seal_rows
from tacit.agreement.signatures import Joining, sign_agreement, sign_joining
from tacit.agreement.terms import Agreement, read_agreement
from tacit.client import PlatformClient, platform_address, tls_context
from tacit.client.connection import API
from tacit.identity.keys import Keys
from tacit.local.cluster import LocalCluster, free_addresses, memory_folder
from tacit.service.server.settings import load_settings, write_settings

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
    part = "run"

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
        return self._launch_part(self.part)

    def _launch_part(self, part: str) -> subprocess.Popen[bytes]:
        with (self.folder / "platform.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tacit", "service", part, "--config", self.config],
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
        return {entry["run"]: entry["late_by"] for entry in map(json.loads, lines)}

    def workers(self) -> list[int]:
        """The processes whose parent is the server that this platform's workers come from."""
        if self.process is None:
            return []
        return [each for child in children(self.process.pid) for each in children(child)]

    def stop_workers(self) -> None:
        for each in self.workers():
            os.kill(each, signal.SIGSTOP)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = re.sub(r"\(.*\)", "", stat.read_text()).split()
        except OSError:
            continue
        if int(fields[2]) == pid:
            found.append(int(fields[0]))
    return found


OPERATOR = "operator"
ENDS = ("finished", "interrupted", "failed", "cancelled")


class LivePlatform(PlatformProcess):
    """Use it in a `with` statement: everything ends and goes with the block."""

    def __init__(
        self,
        *,
        clusters: int = 1,
        slots: int = 4,
        delay_ms: float = 0.0,
        database: str | None = None,
        workers: int = 0,
    ) -> None:
        """With `workers`, which need a PostgreSQL `database`, each part is a process of its own."""
        self._clusters, self._slots, self._delay = clusters, slots, delay_ms
        self._database, self._workers = database, workers
        self.others: list[subprocess.Popen[bytes]] = []
        """The processes that execute runs, if the platform is in parts."""
        self._stack = ExitStack()
        self.process = None
        self.tokens: dict[str, str] = {}
        self.keys: dict[str, Keys] = {}

    def __enter__(self) -> LivePlatform:
        try:
            self._open()
        except BaseException:
            self._stack.close()
            raise
        return self

    def _open(self) -> None:
        made = tempfile.TemporaryDirectory(prefix="tacit-live-", dir=memory_folder())
        self.folder = Path(self._stack.enter_context(made))
        self.clusters = [
            self._stack.enter_context(LocalCluster(delay_ms=self._delay))
            for _ in range(self._clusters)
        ]
        listen = free_addresses(1)[0]
        files = [cluster.folder / "cluster.toml" for cluster in self.clusters]
        self.config = write_settings(
            self.folder / "platform", clusters=files, listen=listen, url=None
        )
        text = self.config.read_text().replace("slots = 4", f"slots = {self._slots}")
        text = re.sub(r"(requests_per_minute) = \d+", r"\1 = 1000000", text)
        if self._database is not None:
            text = re.sub(r'database = ".*"', f'database = "{self._database}"', text)
        self.config.write_text(text)
        self.settings = load_settings(self.config)
        self.ca = self.config.parent / "service.pem"
        self.http = self._stack.enter_context(
            httpx.Client(
                base_url=self.settings.url + API,
                verify=tls_context(self.ca),
                timeout=120.0,
                limits=httpx.Limits(max_connections=100),
            )
        )
        invited = subprocess.run(
            [sys.executable, "-m", "tacit", "service", "invite", OPERATOR, "--config", self.config],
            check=True,
            capture_output=True,
            text=True,
        )
        self._stack.callback(self.kill)
        self._stack.callback(self._end_others)
        self.part = "api" if self._workers else "run"
        self.start()
        for _ in range(self._workers):
            self.start_worker()
        self.join(OPERATOR, invited.stdout.strip(), key=False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def start_worker(self) -> subprocess.Popen[bytes]:
        """One more process that executes runs, in a group of its own."""
        self.others.append(self._launch_part("worker"))
        return self.others[-1]

    def _end_others(self) -> None:
        for each in self.others:
            # All of its group: one that was stopped does not notice that others have ended.
            with suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()

    # Everybody.

    def client(self, who: str) -> PlatformClient:
        """Somebody's own connection."""
        return PlatformClient(self.settings.url, token=self.tokens[who], ca=self.ca)

    def call(self, method: str, path: str, who: str | None = None, **options: Any) -> Any:
        headers = {} if who is None else {"Authorization": f"Bearer {self.tokens[who]}"}
        answer = self.http.request(method, path, headers=headers, **options)
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        is_json = answer.headers["content-type"].startswith("application/json")
        return answer.json() if is_json and "agreement" not in path else answer.content

    def join(self, name: str, code: str, *, key: bool = True) -> None:
        body = {"code": code}
        if key:
            self.keys[name] = Keys.new(name)
            here, keys = platform_address(self.settings.url), self.keys[name]
            signature = sign_joining(Joining(code, name, here), keys.signing)
            body |= {"signing_key": keys.signing_public, "signature": signature.hex()}
            body |= {"account": name, "platform": here}
        self.tokens[name] = self.call("POST", "/join", json=body)["token"]

    def new_run(
        self,
        participants: Sequence[str],
        /,
        *,
        rows: int = 12,
        deadline: float = 3.0,
        by: str = OPERATOR,
        **changes: Any,
    ) -> str:
        """A run whose participants have all joined."""
        names = list(participants)
        terms = {
            "name": "slots",
            "problem": {"name": "slots", "kind": "assignment", "rows": rows, "columns": rows},
            "objectives": [
                {
                    "name": "delay",
                    "sense": "minimize",
                    "weight_bound": 1000,
                    "disclosure": "top:5",
                    "best": changes.pop("best", "value"),
                }
            ],
            "participants": {
                name: list(range(rows))[k :: len(names)] for k, name in enumerate(names)
            },
            "parameters": {"population": 40, "elites": 2, "tournament": 3},
            "limits": {"evaluations": changes.pop("evaluations", 100_000)},
            "deadline_seconds": deadline,
            **changes,
        }
        run_id: str = self.call("POST", "/runs", by, json=terms)["id"]
        codes = self.call("POST", f"/runs/{run_id}/invite", by)["invitations"]
        for name, code in codes.items():
            self.join(name, code)
        self.wait_for_agreement(run_id, by)
        return run_id

    def wait_for_agreement(self, run_id: str, by: str, *, seconds: float = 240.0) -> None:
        """It is drawn up at once, or as soon as all nodes are there."""
        until = time.monotonic() + seconds
        while True:
            try:
                self.call("GET", f"/runs/{run_id}/agreement", by)
            except RuntimeError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
            else:
                return

    def agreement(self, run_id: str, who: str) -> Agreement:
        return self.read(self.call("GET", f"/runs/{run_id}/agreement", who))

    @staticmethod
    def read(data: bytes) -> Agreement:
        return read_agreement(data)

    def sign(self, run_id: str, who: str) -> None:
        signature = sign_agreement(self.agreement(run_id, who), self.keys[who].signing)
        body = {"signature": signature.hex()}
        self.call("POST", f"/runs/{run_id}/signature", who, json=body)

    def submit(
        self, run_id: str, who: str, *, weights: NDArray[np.int64] | None = None
    ) -> dict[str, Any]:
        """Seal and submit rows, drawn by the participant's name where none are given."""
        agreement = self.agreement(run_id, who)
        shape = (len(agreement.rows_of(who, 0)), agreement.problem.columns)
        if weights is None:
            weights = np.random.default_rng(list(who.encode())).integers(0, 1000, shape)
        sealed = seal_rows(agreement, who, 0, weights, key=self.keys[who].signing)
        answer: dict[str, Any] = self.call(
            "POST",
            f"/runs/{run_id}/submission",
            who,
            json={
                "objective": 0,
                "manifest": sealed.manifest.hex(),
                "signature": sealed.signature.hex(),
                "boxes": [b64encode(box).decode() for box in sealed.boxes],
            },
        )
        return answer

    def run(self, run_id: str, who: str = OPERATOR) -> dict[str, Any]:
        answer: dict[str, Any] = self.call("GET", f"/runs/{run_id}", who)
        return answer

    def wait(self, run_id: str, *states: str, seconds: float = 120.0) -> dict[str, Any]:
        """The run as soon as it is in one of these states."""
        until = time.monotonic() + seconds
        while (run := self.run(run_id))["state"] not in states:
            if time.monotonic() > until or run["state"] in ENDS:
                raise RuntimeError(f"{run_id} is {run['state']}: {run['reason']}, not {states}")
            time.sleep(0.05)
        return run
