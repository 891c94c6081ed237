"""Two APIs and three workers on PostgreSQL: killed and suspended at random, with runs under way.

A host is a group of processes here, on one machine: killed or suspended as a whole.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from studies.benchmarks.live_platform import LivePlatform

from tacit.agreement.terms import agreement_hash
from tacit.client import tls_context
from tacit.client.connection import API
from tacit.local.cluster import free_addresses
from tacit.node.store import folder_name
from tacit.records.events import EvaluationBegun, RequestRefused
from tacit.records.log import verify_log
from tests.deployment.figures import Figures
from tests.service.execution.test_live import NAMES, followed
from tests.service.postgres import PostgresServer, new_database, postgres_server
from tests.support.cpu_waits import CpuWaits

RUNS, DEADLINE, SLOTS = 20, 60.0, 6
FAULTS, RESTARTS = 30, 5
LATE = 1.0
SEED = int(os.environ.get("SEED", "1"))
Span = tuple[float, float]


class Replicated(LivePlatform):
    """Two APIs, of which requests take whichever answers, and three workers."""

    def __init__(self, database: str) -> None:
        super().__init__(slots=SLOTS, delay_ms=2.0, database=database, workers=3)
        self._clients: list[httpx.Client] = []
        self.hosts: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Replicated:
        super().__enter__()
        listen = free_addresses(1)[0]
        text = self.config.read_text().splitlines()
        lines = [f'listen = "{listen}"' if line.startswith("listen") else line for line in text]
        self._first, self._second = self.config, self.config.with_name("second.toml")
        self._second.write_text("\n".join(lines) + "\n")
        second = httpx.Client(
            base_url=f"https://{listen}{API}", verify=tls_context(self.ca), timeout=10.0
        )
        self.http.timeout = httpx.Timeout(10.0)
        self._clients = [self.http, self._stack.enter_context(second)]
        assert self.process is not None
        workers = [*self.others]
        self.hosts = [self.process, self._api(1), *workers]
        self.call("GET", "/clusters", "operator")
        return self

    def _api(self, number: int) -> subprocess.Popen[bytes]:
        self.config = (self._first, self._second)[number]
        try:
            process = self._launch_part("api")
        finally:
            self.config = self._first
        self.others.append(process)  # which end with the block
        return process

    def restart(self, host: int) -> None:
        self.hosts[host] = self._api(host) if host < 2 else self.start_worker()

    def call(self, method: str, path: str, who: str | None = None, **options: Any) -> Any:
        until = time.monotonic() + 120
        while True:
            try:
                return super().call(method, path, who, **options)
            except (httpx.TransportError, RuntimeError) as error:
                # An answer may be lost with its host, or come without a database.
                passes = isinstance(error, httpx.TransportError) or ": 503 " in str(error)
                if not passes or time.monotonic() > until:
                    raise
                if self._clients:
                    self._clients.reverse()
                    self.http = self._clients[0]
                time.sleep(0.1)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with postgres_server() as made:
        yield made


def submitted(live: Replicated) -> str:
    run_id = live.new_run(NAMES, deadline=DEADLINE, best="improvement")
    for name in NAMES:
        live.sign(run_id, name)
    for name in NAMES:
        live.submit(run_id, name)
    return run_id


def strike(live: Replicated, chance: random.Random, figures: Figures) -> None:
    """Kill or suspend a host, and have it back after a while."""
    host, how = chance.randrange(len(live.hosts)), chance.choice(["killed", "suspended"])
    away = chance.uniform(2.0, 12.0)
    process = live.hosts[host]
    os.killpg(process.pid, signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    time.sleep(away)
    if how == "killed":
        process.wait()
        live.restart(host)
    else:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGCONT)
    figures.add(host=host, how=how, seconds=round(away, 1))
    time.sleep(chance.uniform(0.5, 3.0))


def logs(live: Replicated, run_id: str) -> Iterator[tuple[Path, list[Any]]]:
    name = folder_name(agreement_hash(live.agreement(run_id, "north")))
    for node in range(3):
        path = live.clusters[0].folder / f"node-{node}.data" / name / "log.jsonl"
        yield path, list(verify_log(path.read_bytes()))


def test_no_run_is_lost_late_or_executed_twice(server: PostgresServer, figures: Figures) -> None:
    chance = random.Random(SEED)
    away: list[Span] = []
    with Replicated(new_database(server.url)) as live, CpuWaits(time.time) as waits:
        runs = [submitted(live) for _ in range(RUNS)]
        for number in range(FAULTS):
            strike(live, chance, figures)
            if number % (FAULTS // RESTARTS) == 2:
                begun = time.time()
                server.stop(chance.choice(["fast", "immediate"]))
                server.start()
                away.append((begun, time.time()))
        ended = [live.wait(run_id, "finished", seconds=900.0) for run_id in runs]
        refused = 0
        for run in ended:
            assert live.call("GET", f"/runs/{run['id']}/result", "north")["plan"] is not None
            followed(live, run["id"])
            for path, log in logs(live, run["id"]):
                numbers = [each.number for each in log if isinstance(each, EvaluationBegun)]
                assert numbers == sorted(set(numbers)), path
                refused += sum(
                    "taken this run over" in each.reason
                    for each in log
                    if isinstance(each, RequestRefused)
                )
    late = []
    for run in ended:
        due, came = run["deadline_at"], run["ended"]
        excused = waits.between(due, came)
        excused += sum(max(0.0, min(came, end) - max(due, begin)) for begin, end in away)
        late.append(came - due - excused)
    figures.add(
        runs=len(ended),
        faults=FAULTS,
        restarts_of_the_database=len(away),
        latest_seconds=round(max(late), 3),
        refused_at_nodes=refused,
    )
    assert max(late) < LATE
