"""Many participants and many runs at once on one machine, through HTTPS and real processes.

Every run must end by its deadline, at most 0.1 s late, and without an error. Lateness is measured
three ways: when the answer was decided, when it was stored, and when somebody who watches the event
stream has it. `python -m studies.benchmarks.platform --json FILE`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from studies.benchmarks.live_platform import ENDS, OPERATOR, LivePlatform
from studies.benchmarks.measuring import options_of, write_json

ALLOWED_LATENESS = 0.1
HANDS = 6
"""Participants that act at the same moment."""


class Watcher(threading.Thread):
    """Listens to all events, as a dashboard does, and notes when each end arrives."""

    def __init__(self, live: LivePlatform) -> None:
        super().__init__(daemon=True)
        self._live = live
        self.seen: dict[str, float] = {}
        self.ready = threading.Event()

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {self._live.tokens[OPERATOR]}"}
        try:
            with self._live.http.stream("GET", "/events", headers=headers, timeout=None) as answer:
                self.ready.set()
                for line in answer.iter_lines():
                    if line.startswith("data:"):
                        self._note(json.loads(line.removeprefix("data:")))
        except httpx.HTTPError:
            return  # the platform has ended

    def wait_for(self, runs: Sequence[str], *, seconds: float) -> None:
        """Wait until all these have ended, without asking for them."""
        until = time.monotonic() + seconds
        while not set(runs) <= set(self.seen) and time.monotonic() < until:
            time.sleep(0.1)

    def _note(self, event: dict[str, Any]) -> None:
        data = event.get("data", event)
        if data.get("state") in ENDS and event.get("run"):
            self.seen[event["run"]] = time.time()


def measure(
    *, participants: int, runs: int, each: int, clusters: int, deadline: float, rows: int
) -> dict[str, Any]:
    """All runs side by side; `each` has so many of the participants."""
    names = [f"p{k:02}" for k in range(participants)]
    slots = -(-runs // clusters)
    begun = time.monotonic()
    with LivePlatform(clusters=clusters, slots=slots) as live:
        watcher = Watcher(live)
        watcher.start()
        watcher.ready.wait(10)
        members = [[names[(k * each + j) % participants] for j in range(each)] for k in range(runs)]
        ids = [live.new_run(who, rows=rows, deadline=deadline) for who in members]
        set_up = time.monotonic() - begun
        pairs = [(run_id, who) for run_id, group in zip(ids, members, strict=True) for who in group]
        with ThreadPoolExecutor(HANDS) as hands:
            list(hands.map(lambda pair: live.sign(*pair), pairs))
            list(hands.map(lambda pair: live.submit(*pair), pairs))
        handed_in = time.monotonic() - begun - set_up
        watcher.wait_for(ids, seconds=120 + 3 * deadline)
        ended = [live.run(run_id) for run_id in ids]
        return _figures(live, watcher, ended, set_up=set_up, handed_in=handed_in, begun=begun)


def _figures(
    live: LivePlatform,
    watcher: Watcher,
    ended: Sequence[dict[str, Any]],
    *,
    set_up: float,
    handed_in: float,
    begun: float,
) -> dict[str, Any]:
    stored = live.stored_late()
    errors = []
    for line in live.log().splitlines():
        if not line.startswith("{"):
            continue
        entry = json.loads(line)
        if entry["level"] in ("error", "warning"):
            errors.append(line[:300])
        if entry.get("status", 0) >= 400:
            errors.append(line[:300])
    rows = []
    for run in ended:
        rows.append(
            {
                "run": run["id"],
                "state": run["state"],
                "reason": run["reason"],
                "generations": run["generation"],
                "late": round(run["ended"] - run["deadline_at"], 4) if run["deadline_at"] else None,
                "stored_late": stored.get(run["id"]),
                "seen_late": round(watcher.seen[run["id"]] - run["deadline_at"], 4)
                if run["id"] in watcher.seen and run["deadline_at"]
                else None,
                "waited": round(run["running_since"] - run["created"], 2)
                if run["running_since"]
                else None,
            }
        )
        if run["state"] != "finished" or run["warnings"]:
            errors.append(f"{run['id']}: {run['state']}, {run['reason']}, {run['warnings']}")
    since = [run["running_since"] for run in ended if run["running_since"]]
    until = [run["ended"] for run in ended]
    return {
        "runs": rows,
        "at_once": max(sum(a <= at < b for a, b in zip(since, until, strict=True)) for at in since),
        "most_late": max(row["late"] for row in rows),
        "most_stored_late": max(row["stored_late"] for row in rows),
        "most_seen_late": max((row["seen_late"] or 0.0 for row in rows), default=None),
        "generations": sum(row["generations"] or 0 for row in rows),
        "errors": errors,
        "set_up_seconds": round(set_up, 2),
        "handed_in_seconds": round(handed_in, 2),
        "seconds": round(time.monotonic() - begun, 2),
    }


def main() -> int:
    parser = options_of(__file__, __doc__)
    parser.add_argument("--participants", type=int, default=50)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--each", type=int, default=10, help="participants of one run")
    parser.add_argument("--clusters", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=30.0)
    parser.add_argument("--rows", type=int, default=40)
    options = vars(parser.parse_args())
    path = options.pop("json")
    figures = measure(**options)
    write_json(path, figures)
    for row in figures.pop("runs"):
        print(
            f"{row['run']} {row['state']:10} {row['generations']:5} generations, "
            f"decided {row['late']:+.3f} s, stored {row['stored_late']:+.3f} s, "
            f"seen {row['seen_late'] if row['seen_late'] is not None else '-'} s"
        )
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):20} {value}")
    late = max(figures["most_stored_late"], figures["most_late"])
    return 1 if figures["errors"] or late > ALLOWED_LATENESS else 0


if __name__ == "__main__":
    sys.exit(main())
