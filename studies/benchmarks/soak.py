"""Ten runs at a time for half an hour while processes are killed: `make soak`.

Nothing may be lost, no answer may be late, and memory may not grow. Node 0 is never killed, and the
platform not in the second half, so that there are long lives to look at.
"""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from studies.benchmarks.live_platform import ENDS, OPERATOR, LivePlatform
from studies.benchmarks.measuring import options_of, write_json
from studies.benchmarks.platform_kills import NAMES, Participant, patiently
from tacit.errors import LogError
from tacit.records.log import verify_log

AT_A_TIME = 10
DEADLINES = (5.0, 15.0)
ALLOWED_SECONDS = 240.0
"""A run that has not ended so long after its deadline hangs."""
LATE_SECONDS = 0.5
VICTIMS = ("node 1", "node 1", "node 2", "node 2", "worker", "platform")
KILL_EVERY = (8.0, 25.0)
AWAY_SECONDS = (0.0, 3.0)


@dataclass
class Tally:
    """What came of all runs; threads add to it."""

    runs: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    given_up: int = 0
    """Drafts whose drafting a kill broke off; their operator drafted anew."""
    lost_submissions: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    running_at_kills: set[str] = field(default_factory=set)
    """Runs whose platform died: their answer is its successor's, and may be late."""
    troubles: list[str] = field(default_factory=list)


class Desk(threading.Thread):
    """Has one run after the other, each from its draft to its end."""

    def __init__(self, live: LivePlatform, tally: Tally, until: float, seed: int) -> None:
        super().__init__(daemon=True)
        self._live, self._tally, self._until = live, tally, until
        self._chance = random.Random(seed)
        self.busy_with = ""

    def run(self) -> None:
        while time.monotonic() < self._until:
            try:
                self._one_run()
            except Exception as error:
                self._tally.troubles.append(f"{self.busy_with}: {error!r}")
                print(self._live.last_lines(), file=sys.stderr, flush=True)

    def _one_run(self) -> None:
        live, deadline = self._live, self._chance.uniform(*DEADLINES)
        self.busy_with = "a new run"
        try:
            run_id = live.new_run(NAMES, deadline=deadline, best="value")
        except httpx.TransportError:
            self._tally.given_up += 1
            time.sleep(0.5)
            return
        self.busy_with = run_id
        people = [Participant(live, run_id, name, self._chance.uniform(0, 0.5)) for name in NAMES]
        for each in people:
            each.start()
        for each in people:
            each.join(ALLOWED_SECONDS)
            if each.trouble:
                self._tally.troubles.append(f"{run_id}: {each.trouble}")
        state = self._end_of(run_id, deadline)
        while state == "interrupted":
            self._tally.resumed += 1
            patiently(live, "POST", f"/runs/{run_id}/resume", OPERATOR)
            state = self._end_of(run_id, deadline)
        self._tally.runs[state] += 1
        for each in people:
            there = patiently(live, "GET", f"/runs/{run_id}/submission", each.name_)
            if not each.accepted or each.accepted not in [sent["boxes"] for sent in there]:
                self._tally.lost_submissions += 1

    def _end_of(self, run_id: str, deadline: float) -> str:
        until = time.monotonic() + deadline + ALLOWED_SECONDS
        while True:
            run = patiently(self._live, "GET", f"/runs/{run_id}", OPERATOR)
            if run["state"] in ENDS:
                return str(run["state"])
            if time.monotonic() > until:
                raise RuntimeError(f"it is still {run['state']}; {run['warnings']}")
            time.sleep(0.25)


def kill_at_random(live: LivePlatform, tally: Tally, until: float, *, seed: int) -> None:
    """Kill and start again, until half a minute before the end."""
    chance, begun = random.Random(seed), time.monotonic()
    while True:
        time.sleep(chance.uniform(*KILL_EVERY))
        now = time.monotonic()
        if now > until - 30:
            return
        victim = chance.choice(VICTIMS)
        if victim == "platform" and now > (begun + until) / 2:
            victim = "node 2"
        try:
            kill(live, tally, victim, chance)
        except Exception as error:
            tally.troubles.append(f"{victim}: {error!r}\n{live.last_lines()}")
            return


def kill(live: LivePlatform, tally: Tally, victim: str, chance: random.Random) -> None:
    if victim == "worker":
        workers = live.workers()
        if not workers:
            return
        with suppress(ProcessLookupError):
            os.kill(chance.choice(workers), signal.SIGKILL)
    elif victim == "platform":
        listed = live.call("GET", "/runs", OPERATOR)
        tally.running_at_kills |= {run["id"] for run in _runs(listed)}
        live.kill()
        time.sleep(chance.uniform(*AWAY_SECONDS))
        live.start()
    else:
        node, cluster = int(victim[-1]), live.clusters[0]
        cluster.kill(node)
        time.sleep(chance.uniform(*AWAY_SECONDS))
        cluster.restart(node)
    tally.kills[victim] += 1


def _runs(listed: Any) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = listed["runs"] if isinstance(listed, dict) else listed
    return [run for run in runs if run["state"] not in ENDS]


def broken_logs(live: LivePlatform) -> tuple[int, list[str]]:
    """How many logs the nodes have, and which of them do not verify."""
    logs = sorted(live.clusters[0].folder.glob("node-*.data/*/log.jsonl"))
    broken = []
    for path in logs:
        try:
            verify_log(path.read_bytes())
        except LogError as error:
            broken.append(f"{path.parent.name}: {error}")
    return len(logs), broken


def soak(minutes: float, *, seed: int) -> dict[str, Any]:
    """What came of it, in figures."""
    tally = Tally()
    with LivePlatform(slots=AT_A_TIME) as live, MemorySamples(live) as memory:
        live.new_run(NAMES)  # all join
        until = time.monotonic() + 60 * minutes
        desks = [Desk(live, tally, until, seed + k) for k in range(AT_A_TIME)]
        for desk in desks:
            desk.start()
        kill_at_random(live, tally, until, seed=seed)
        for desk in desks:
            desk.join(max(0.0, until - time.monotonic()) + 2 * ALLOWED_SECONDS)
            if desk.is_alive():
                tally.troubles.append(f"{desk.busy_with} hangs")
        late = {k: v for k, v in live.stored_late().items() if k not in tally.running_at_kills}
        logs, broken = broken_logs(live)
        return {
            "minutes": minutes,
            "at_a_time": AT_A_TIME,
            "runs": dict(tally.runs),
            "kills": dict(tally.kills),
            "resumed": tally.resumed,
            "drafts_given_up": tally.given_up,
            "lost_submissions": tally.lost_submissions,
            "most_late_seconds": round(max(late.values(), default=0.0), 3),
            "late_answers": sum(each > LATE_SECONDS for each in late.values()),
            "logs": logs,
            "broken_logs": broken,
            "memory": memory.summary(),
            "troubles": tally.troubles,
        }


def main() -> int:
    parser = options_of(__file__, __doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    figures = soak(options.minutes, seed=options.seed)
    print(json.dumps(figures, indent=1))
    write_json(options.json, figures)
    ends = set(figures["runs"]) <= {"finished"}
    bad = ("lost_submissions", "late_answers", "broken_logs", "troubles")
    return 0 if ends and not any(figures[each] for each in bad) else 1


EVERY_SECONDS = 2.0
SETTLED_SECONDS = 90.0
"""A process has loaded all that it needs after so long; growth counts from there."""
WINDOW = 15
"""Samples at either end whose median is compared."""


def resident_megabytes(pid: int, /) -> float | None:
    """What a process has in memory; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0].split()[1]) / 1024 if found else None


class MemorySamples:
    """Samples for as long as the block lasts."""

    def __init__(self, live: LivePlatform) -> None:
        self._live = live
        self._stop = threading.Event()
        self._samples: dict[tuple[str, int], list[tuple[float, float]]] = {}

    def __enter__(self) -> MemorySamples:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            cluster = self._live.clusters[0]
            alive = [(f"node {i}", each.pid) for i, each in enumerate(cluster.processes)]
            if (platform := self._live.process) is not None:
                alive.append(("platform", platform.pid))
            for key in alive:
                megabytes = resident_megabytes(key[1])
                if megabytes is not None:
                    self._samples.setdefault(key, []).append((time.monotonic(), megabytes))

    def summary(self) -> dict[str, Any]:
        """The longest life of each process: how it grew once it had settled."""
        longest: dict[str, list[tuple[float, float]]] = {}
        for (name, _), samples in self._samples.items():
            if len(samples) > len(longest.get(name, [])):
                longest[name] = samples
        return {name: _growth(samples) for name, samples in sorted(longest.items())}


def _growth(samples: list[tuple[float, float]]) -> dict[str, float | None]:
    born, died = samples[0][0], samples[-1][0]
    settled = [(at, size) for at, size in samples if at - born >= SETTLED_SECONDS]
    made: dict[str, float | None] = {
        "life_minutes": round((died - born) / 60, 1),
        "most_megabytes": round(max(size for _, size in samples), 1),
        "settled_megabytes": None,
        "last_megabytes": None,
    }
    if len(settled) >= 2 * WINDOW:
        made["settled_megabytes"] = round(statistics.median(s for _, s in settled[:WINDOW]), 1)
        made["last_megabytes"] = round(statistics.median(s for _, s in settled[-WINDOW:]), 1)
    return made


if __name__ == "__main__":
    sys.exit(main())
