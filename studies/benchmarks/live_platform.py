"""A platform in a process of its own on clusters of real nodes, and its users, over HTTPS.

For measurements and for tests that kill it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from studies.benchmarks.platform_process import PlatformProcess
from tacit.client import PlatformClient, platform_address, tls_context
from tacit.client.connection import API
from tacit.engine.agreement.sealing import seal_rows
from tacit.engine.agreement.signatures import Joining, sign_agreement, sign_joining
from tacit.engine.agreement.terms import Agreement, read_agreement
from tacit.engine.identity.keys import Keys
from tacit.engine.local.cluster import LocalCluster, free_addresses, memory_folder
from tacit.service.server.new_settings import write_settings
from tacit.service.server.settings import load_settings

OPERATOR = "operator"
ENDS = ("finished", "interrupted", "failed", "cancelled")


class LivePlatform(PlatformProcess):
    """Use it in a `with` statement: everything ends and goes with the block."""

    def __init__(self, *, clusters: int = 1, slots: int = 4, delay_ms: float = 0.0) -> None:
        self._clusters, self._slots, self._delay = clusters, slots, delay_ms
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
        self.start()
        self.join(OPERATOR, invited.stdout.strip(), key=False)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

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
