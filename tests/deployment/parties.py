"""The parties of a deployment: servers by their commands, an operator, and participants."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from tacit.client import tls_context
from tacit.client.connection import API

TACIT = (sys.executable, "-m", "tacit")
NAMES = ("north", "south", "west")
ENDS = ("finished", "interrupted", "failed", "cancelled")
PATIENCE_SECONDS = 180.0
LAST = 4000
TRIES = 3
PLATFORM_AWAY = 4
"""How commands end that did not reach the platform."""
Words = Sequence[str | Path]
Place = Callable[[], AbstractContextManager[object]]


@dataclass
class Server:
    """A node or a platform as its operator starts it; its output is in a file."""

    words: Words
    log: Path
    tacit: Words = TACIT
    place: Place = nullcontext
    """On which host."""
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.place(), self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.tacit, *self.words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """How it ended."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.send_signal(how)
        try:
            return process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

    def check(self) -> None:
        if self.process is not None and self.process.poll() is not None:
            raise RuntimeError(f"{self.words} ended with {self.process.returncode}: {self.said()}")

    def said(self) -> str:
        return self.log.read_text()[-LAST:]


@dataclass
class Operator:
    """Talks to the API; in a thread that is where operators are."""

    url: str
    certificate: Path
    token: str = ""
    http: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        verify = tls_context(self.certificate)
        self.http = httpx.Client(base_url=self.url + API, verify=verify, timeout=30.0)

    def wait_until_up(self, *servers: Server) -> float:
        """The seconds until the platform answers."""
        begun = time.monotonic()
        while True:
            with suppress(httpx.TransportError):
                if self.http.get("/health").is_success:
                    return time.monotonic() - begun
            for each in servers:
                each.check()
            if time.monotonic() - begun > PATIENCE_SECONDS:
                raise RuntimeError("the platform does not answer")
            time.sleep(0.1)

    def call(self, method: str, path: str, **options: Any) -> Any:
        return self._ask(method, path, **options).json()

    def fetch(self, path: str) -> bytes:
        """Something that is no JSON, or whose bytes matter."""
        return self._ask("GET", path).content

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        for again in range(TRIES):
            try:
                answer = self.http.request(method, path, headers=headers, **options)
                break
            except httpx.TransportError:
                # A link may break; what is asked for can be asked for again.
                if method != "GET" or again == TRIES - 1:
                    raise
        if not answer.is_success:
            raise RuntimeError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer

    def join(self, code: str) -> None:
        self.token = self.call("POST", "/join", json={"code": code})["token"]

    def new_run(self, terms: dict[str, Any]) -> tuple[str, dict[str, str]]:
        """Its name, and the codes of those who have not joined."""
        run: str = self.call("POST", "/runs", json=terms)["id"]
        codes: dict[str, str] = self.call("POST", f"/runs/{run}/invite")["invitations"]
        return run, codes

    def run(self, run: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.call("GET", f"/runs/{run}")
        return answer

    def generation(self, run: str) -> int:
        progress = self.run(run)["progress"]
        return 0 if progress is None else int(progress["generation"])

    def wait(self, run: str, *states: str, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """The run as soon as it is in one of these states."""
        return self.until(run, lambda found: found["state"] in states, seconds=seconds)

    def until(
        self, run: str, fits: Callable[[dict[str, Any]], bool], *, seconds: float = PATIENCE_SECONDS
    ) -> dict[str, Any]:
        """The run as soon as it fits; one that has ended otherwise is an error."""
        until = time.monotonic() + seconds
        while not fits(found := self.run(run)):
            if time.monotonic() > until or found["state"] in ENDS:
                raise RuntimeError(f"{run} is {found['state']}: {found['reason']}")
            time.sleep(0.1)
        return found


@dataclass
class Participant:
    """Somebody with a machine and a home of their own, who types commands."""

    name: str
    home: Path
    tacit: Words = TACIT

    def type(self, *words: str | Path) -> str:
        """A command that ends well; a link that breaks has it typed again."""
        for _ in range(TRIES):
            done = self.try_(*words)
            if done.returncode != PLATFORM_AWAY:
                break
        if done.returncode:
            raise RuntimeError(
                f"{self.name} {words}: {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def try_(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        self.home.mkdir(exist_ok=True, parents=True)
        environment = {"XDG_CONFIG_HOME": str(self.home / "config"), "COLUMNS": "300"}
        return subprocess.run(
            [*self.tacit, "participant", *words],
            cwd=self.home,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def enter(self, url: str, code: str, certificate: Path) -> str:
        """Join; the entry for the others' trust files comes back."""
        self.type("keys", "new", self.name)
        self.type("join", url, code, "--ca", certificate)
        return self.type("keys", "show", "--toml")

    def sign(self, run: str, terms: dict[str, Any]) -> None:
        """Read and sign; the costs are those that the name gives."""
        (self.home / "costs.csv").write_text(costs(terms, self.name))
        self.type("review", run, "--costs", "costs.csv")
        self.type("sign", run, "--yes")

    def submit(self, run: str) -> None:
        self.type("submit", run, "costs.csv", "--again")


def slots(rows: int, deadline: float, /, **changes: Any) -> dict[str, Any]:
    """The terms of a run of three airlines; `objective` changes what is disclosed."""
    objective = {"name": "delay", "sense": "minimize", "weight_bound": 1000}
    return {
        "name": "morning",
        "problem": {
            "name": "slots",
            "kind": "assignment",
            "rows": rows,
            "columns": rows,
            "row_names": [f"F{row}" for row in range(rows)],
            "column_names": [f"S{column}" for column in range(rows)],
        },
        "objectives": [{**objective, **changes.pop("objective", {})}],
        "participants": {name: list(range(rows))[k::3] for k, name in enumerate(NAMES)},
        "deadline_seconds": deadline,
        **changes,
    }


def costs(terms: dict[str, Any], name: str, /) -> str:
    """A participant's file, the same whenever it is written."""
    problem, rows = terms["problem"], terms["participants"][name]
    drawn = np.random.default_rng(list(name.encode()))
    shape = (len(rows), problem["columns"])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["", *problem["column_names"]])
    for row, line in zip(rows, drawn.integers(0, 1000, shape), strict=True):
        writer.writerow([problem["row_names"][row], *line])
    return text.getvalue()


def entries_of_nodes(cluster: Path, /, tacit: Words = TACIT) -> list[str]:
    """What each node's operator gives to participants."""
    nodes = tomllib.loads((cluster / "cluster.toml").read_text())["nodes"]
    return [
        typed(tacit, "keys", "show", cluster / f"node-{i}.key", "--address", node["address"])
        for i, node in enumerate(nodes)
    ]


def typed(tacit: Words, *words: str | Path) -> str:
    """What a server's operator gets to read."""
    done = subprocess.run([*tacit, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
