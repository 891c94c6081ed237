"""Hostile requests to a platform with runs under way: everybody else is answered, and on time.

Attackers with accounts send 14.5 MB of unknown fields, nesting, text and numbers, as drafts and as
submissions, one after the other; others guess tokens, let bodies trickle in, send what is too large
for its address, and ask for the list of runs all the time. Meanwhile a participant asks for its run
twenty times a second, and runs come to their deadlines. The limits on bytes and requests are
lifted, which would end most of this at once.

`python -m studies.benchmarks.hostile_requests --json FILE`.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import socket
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from studies.benchmarks.live_platform import OPERATOR, LivePlatform
from studies.benchmarks.measuring import options_of, write_json
from tacit.client import tls_context
from tacit.client.connection import API

LARGE = 14_500_000
ALLOWED_SECONDS, ALLOWED_LATENESS = 0.3, 0.1
PROBE_EVERY_SECONDS = 0.05
TRICKLING = 50
"""Connections whose bodies never end."""
PLAIN: dict[str, Any] = {
    "name": "x",
    "problem": {"name": "x", "kind": "assignment", "rows": 2, "columns": 2},
    "objectives": [{"name": "cost", "sense": "minimize", "weight_bound": 9}],
    "participants": {"mallory": [0, 1]},
    "deadline_seconds": 1,
}
FILLS: dict[str, Callable[[], str]] = {
    "keys": lambda: ",".join(f'"k{number}":0' for number in range(LARGE // 12)),
    "lists": lambda: '"x":[' + ",".join(["[]"] * (LARGE // 3)) + "]",
    "objects": lambda: '"x":[' + ",".join(['{"a":0}'] * (LARGE // 8)) + "]",
    "nesting": lambda: '"x":' + "[" * LARGE,
    "text": lambda: '"preset":"' + "x" * LARGE + '"',
    "marks": lambda: '"' + "\u0301\u0316" * (LARGE // 4) + '":0',
    "settings": lambda: (
        '"parameters":{' + ",".join(f'"k{number}":0' for number in range(LARGE // 12)) + "}"
    ),
}


def bodies() -> list[bytes]:
    """One hostile draft of each kind."""
    head = json.dumps(PLAIN)[:-1]
    return [f"{head},{fill()}}}".encode() for fill in FILLS.values()]


class Attack:
    """What one attacking process knows: where the platform is, and a token."""

    def __init__(self, url: str, ca: Path, token: str, run_id: str) -> None:
        self.url, self.ca, self.token, self.run_id = url, ca, token, run_id

    def client(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or self.token}"}
        return httpx.Client(
            base_url=self.url + API, verify=tls_context(self.ca), timeout=120.0, headers=headers
        )

    def large(self, method: str, path: str) -> Iterator[int]:
        with self.client() as http:
            while True:
                for body in bodies():
                    yield http.request(method, path, content=body).status_code

    def drafts(self) -> Iterator[int]:
        return self.large("POST", "/runs")

    def submissions(self) -> Iterator[int]:
        return self.large("POST", f"/runs/{self.run_id}/submission")

    def too_large(self) -> Iterator[int]:
        while True:
            try:
                with self.client() as http:
                    yield http.post("/me/webhooks", content=b" " * LARGE).status_code
            except httpx.TransportError:
                yield 413  # it was refused, and closed, in the middle of the body

    def guesses(self) -> Iterator[int]:
        with self.client("tct_guess") as http:
            while True:
                yield http.get("/me").status_code

    def small(self) -> Iterator[int]:
        with self.client() as http:
            while True:
                yield http.get("/runs").status_code
                time.sleep(0.02)

    def trickle(self) -> Iterator[int]:
        """Bodies of which a byte comes a second."""
        parts = urlsplit(self.url)
        head = (
            f"POST {API}/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Length: {LARGE}\r\n\r\n"
        ).encode()
        context = tls_context(self.ca)
        lines: list[ssl.SSLSocket] = []
        while True:
            while len(lines) < TRICKLING:
                plain = socket.create_connection((str(parts.hostname), parts.port or 443))
                lines.append(context.wrap_socket(plain, server_hostname=parts.hostname))
                lines[-1].sendall(head)
            for line in list(lines):
                try:
                    line.sendall(b" ")
                except OSError:
                    lines.remove(line)
                    yield 408
            time.sleep(1.0)


ATTACKS = ("drafts", "submissions", "too_large", "guesses", "small", "trickle")


def attack(kind: str, known: Attack, answered: Any) -> None:
    """Attack until this process is ended, at the lowest priority: it shares the machine."""
    os.nice(19)
    for status in getattr(known, kind)():
        answered.put((kind, status))


class Probe(threading.Thread):
    """A participant that asks for its run, and how long each answer took."""

    def __init__(self, live: LivePlatform, run_id: str, who: str) -> None:
        super().__init__(daemon=True)
        self._live, self._run, self._who = live, run_id, who
        self.seconds: list[float] = []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(PROBE_EVERY_SECONDS):
            for path in ("/me", f"/runs/{self._run}"):
                begun = time.perf_counter()
                self._live.call("GET", path, self._who)
                self.seconds.append(time.perf_counter() - begun)


def measured(seconds: list[float]) -> dict[str, float]:
    return {
        "requests": len(seconds),
        **{f"p{share}": round(float(np.percentile(seconds, share)), 4) for share in (50, 99)},
        "most": round(max(seconds), 4),
    }


def lift_limits(live: LivePlatform) -> None:
    """Of bytes, too, before the platform is started again."""
    live.kill()
    text = re.sub(r"(mb_per_minute) = [\d.]+", r"\1 = 1000000.0", live.config.read_text())
    live.config.write_text(text)
    live.start()


def resident_mb(pid: int) -> float:
    fields = Path(f"/proc/{pid}/status").read_text()
    return round(int(re.findall(r"VmHWM:\s+(\d+)", fields)[0]) / 1024)


def probed(live: LivePlatform, runs: int, deadline: float, mine: str) -> tuple[Probe, list[Any]]:
    """Runs to their deadlines, one after the other, while a participant asks."""
    probe = Probe(live, mine, "north")
    probe.start()
    ended = []
    for _ in range(runs):
        run_id = live.new_run(["north", "south"], deadline=deadline, rows=20)
        for act in (live.sign, live.submit):
            for who in ("north", "south"):
                act(run_id, who)
        ended.append(live.wait(run_id, "finished", "interrupted", "failed"))
    probe.done.set()
    probe.join()
    return probe, ended


def measure(*, runs: int, deadline: float) -> dict[str, Any]:
    with LivePlatform(slots=2) as live:
        lift_limits(live)
        mine = live.new_run(["north", "south", "mallory"])
        quiet, _ = probed(live, 1, deadline, mine)
        context = multiprocessing.get_context("spawn")
        answered = context.Queue()
        attackers = []
        for kind in ATTACKS:
            token = live.tokens["mallory" if kind == "submissions" else OPERATOR]
            known = Attack(live.settings.url, live.ca, token, mine)
            process = context.Process(target=attack, args=(kind, known, answered), daemon=True)
            process.start()
            attackers.append(process)
        try:
            answered.get(timeout=300)  # the first of them is under way
            probe, ended = probed(live, runs, deadline, mine)
        finally:
            for each in attackers:
                each.kill()
                each.join()
        statuses: Counter[str] = Counter()
        while not answered.empty():
            kind, status = answered.get()
            statuses[f"{kind} {status}"] += 1
        late = live.stored_late()
        assert live.process is not None
        results = [live.call("GET", f"/runs/{each['id']}/result", "north") for each in ended]
        return {
            "quiet_seconds": measured(quiet.seconds),
            "attacked_seconds": measured(probe.seconds),
            "late_seconds": [late.get(each["id"]) for each in ended],
            "said_late_seconds": [each["late_by_seconds"] for each in results],
            "states": [each["state"] for each in ended],
            "attacks": dict(sorted(statuses.items())),
            "most_memory_mb": resident_mb(live.process.pid),
            "load": os.getloadavg()[0],
        }


def main() -> int:
    parser = options_of(__file__, __doc__)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--deadline", type=float, default=10.0)
    options = vars(parser.parse_args())
    path = options.pop("json")
    figures = measure(**options)
    write_json(path, figures)
    is_quick = figures["attacked_seconds"]["p99"] <= ALLOWED_SECONDS
    is_punctual = all((late or 0.0) <= ALLOWED_LATENESS for late in figures["late_seconds"])
    return 0 if is_quick and is_punctual else 1


if __name__ == "__main__":
    sys.exit(main())
