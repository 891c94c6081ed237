"""How long it takes to read the list of runs, a page of it, and one run, beside many others.

A platform has `--runs` runs in its database, and `--busy` others that search meanwhile. Each of 1,
10 and 50 clients keeps one HTTPS connection and asks again as soon as it has its answer.
`python -m studies.benchmarks.lists --json FILE`.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np

from studies.benchmarks.live_platform import OPERATOR, LivePlatform
from studies.benchmarks.measuring import options_of, write_json
from tacit.client import FoundPlans, Plan, RunTerms, converted, tls_context
from tacit.client.connection import API
from tacit.service.storage import Database, Run, add_members, create_account, create_run

CLIENTS = (1, 10, 50)
ROWS = 100
DRAFTS_PERCENT, LONG_AGREEMENT = 5, 20_000
BUSY_SECONDS = 600.0


def terms_of(number: int) -> RunTerms:
    """An assignment of 100 rows among three participants."""
    name = f"slots {number}"
    rows = [f"flight {row}" for row in range(ROWS)]
    return converted(
        {
            "name": name,
            "problem": {
                "name": name,
                "kind": "assignment",
                "rows": ROWS,
                "columns": ROWS,
                "row_names": rows,
                "column_names": [f"slot {row}" for row in range(ROWS)],
            },
            "objectives": [{"name": "delay", "sense": "minimize", "weight_bound": 1000}],
            "participants": {who: list(range(ROWS))[k::3] for k, who in enumerate(PARTICIPANTS)},
            "deadline_seconds": 60,
        },
        RunTerms,
    )


PARTICIPANTS = ("north", "south", "east")


def fill(url: str, runs: int) -> str:
    """Put runs into a platform's database, nearly all of them ended; the id of one."""
    database = Database(url)
    with database.writing() as session:
        for who in PARTICIPANTS:
            create_account(session, who, "participant")
    for begin in range(0, runs, 500):
        with database.writing() as session:
            for number in range(begin, min(begin + 500, runs)):
                run = create_run(session, terms_of(number), by=OPERATOR)
                if number % 100 >= DRAFTS_PERCENT:
                    _end(run)
                    add_members(session, run.id, run.terms.participants)
    database.close()
    return run.id


def _end(run: Run) -> None:
    run.state, run.cluster, run.agreement_hash = "finished", "cluster", "ab" * 32
    run.agreement = b"x" * LONG_AGREEMENT
    run.running_since, run.deadline_at, run.ended = run.created, run.created + 60, run.created + 61
    run.result = FoundPlans(plan=Plan(items=list(range(ROWS))), disclosed=[None])


class Clients:
    """So many connections to a platform, each of which asks for the same path again and again."""

    def __init__(self, live: LivePlatform, count: int, path: str, seconds: float) -> None:
        self._address = urlsplit(live.settings.url).netloc
        self._context = tls_context(live.ca)
        self._headers = {"Authorization": f"Bearer {live.tokens[OPERATOR]}"}
        self._path, self._until = f"{API}{path}", time.monotonic() + seconds
        self._took: list[float] = []
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]

    def measure(self) -> dict[str, Any]:
        begun = time.monotonic()
        for each in self._threads:
            each.start()
        for each in self._threads:
            each.join()
        taken = np.array(self._took) * 1000
        return {
            "requests": len(taken),
            "per_second": round(len(taken) / (time.monotonic() - begun), 1),
            "p50_ms": round(float(np.percentile(taken, 50)), 1),
            "p99_ms": round(float(np.percentile(taken, 99)), 1),
        }

    def _ask(self) -> None:
        connection = http.client.HTTPSConnection(
            self._address, context=self._context, timeout=BUSY_SECONDS
        )
        while True:
            begun = time.monotonic()
            connection.request("GET", self._path, headers=self._headers)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{self._path}: {answer.status}")
            self._took.append(time.monotonic() - begun)
            if time.monotonic() > self._until:
                return


def paths(live: LivePlatform, run_id: str) -> dict[str, str]:
    """What is asked for, by what it is called."""
    asked = {"a run": f"/runs/{run_id}", "the list": "/runs"}
    first = json.loads(live.http.get("/runs", headers=_bearer(live)).content)
    if isinstance(first, dict):  # which a list without pages is not
        last = first
        for _ in range(20):
            path = f"/runs?limit=500&after={quote(last['next'])}"
            page = json.loads(live.http.get(path, headers=_bearer(live)).content)
            if page["next"] is None:
                break
            last = page
        asked["a page far down"] = f"/runs?after={quote(last['next'])}"
        asked["running ones"] = "/runs?state=running"
        asked["a search"] = "/runs?search=slots+777"
    return asked


def _bearer(live: LivePlatform) -> dict[str, str]:
    return {"Authorization": f"Bearer {live.tokens[OPERATOR]}"}


def begin_runs(live: LivePlatform, count: int) -> None:
    """Have so many runs search until the end of the measurement."""
    for _ in range(count):
        names = ["alpha", "beta", "gamma"]
        run = live.new_run(names, rows=40, deadline=BUSY_SECONDS)
        for who in names:
            live.sign(run, who)
        for who in names:
            live.submit(run, who)
        live.wait(run, "running")


def measure(*, runs: int, seconds: float, busy: int, clients: Sequence[int]) -> dict[str, Any]:
    """All paths by all numbers of clients."""
    with LivePlatform() as live:
        run_id = fill(live.settings.database_url, runs)
        begin_runs(live, busy)
        rows = []
        for name, path in paths(live, run_id).items():
            for count in clients:
                found = Clients(live, count, path, seconds).measure()
                rows.append({"what": name, "clients": count, **found})
                print(rows[-1], flush=True)
        return {"runs": runs, "busy": busy, "rows": rows}


def main() -> int:
    parser = options_of(__file__, __doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--busy", type=int, default=0, help="runs that search meanwhile")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    options = vars(parser.parse_args())
    path = options.pop("json")
    write_json(path, measure(**options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
