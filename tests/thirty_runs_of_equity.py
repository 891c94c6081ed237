"""Thirty runs of a series with equity on real nodes, with kills of nodes and of the platform.

`python -m tests.thirty_runs_of_equity` (`make equity-test`). Of 40 rows and 60 columns each; in
most runs a node is killed while inputs are frozen or the search goes on, or the process that
drives the search is, or both. After each run the balances on the disks of all nodes together are
those of the twin in the clear. What counting takes is measured, and printed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.agreement import canonical, read_agreement
from tacit.coordinator.sealed_search import SealedSearch
from tacit.identity import load_cluster_config
from tacit.local.cluster import LocalCluster
from tacit.runs import Agreed, agreed_driver, drive
from tests.on_nodes.agreed_cluster import AgreedCluster, run
from tests.on_nodes.equity_series import EquitySeries, hand_over, problem_of
from tests.support.mending import mend

ROWS, COLUMNS, PARTICIPANTS = 40, 60, 4
SECONDS = 3.0
"""Of a run."""
MOST_TRIES = 6


def drive_one(folder: Path) -> None:
    """The platform's process: go on with the run in the folder, whoever began it."""
    job = json.loads((folder / "job.json").read_text())
    agreed = Agreed(
        agreement=read_agreement(bytes.fromhex(job["agreement"])),
        signatures={name: bytes.fromhex(each) for name, each in job["signatures"].items()},
        manifests={0: [bytes.fromhex(each) for each in job["manifests"]]},
    )
    count, took = SealedSearch.count, []

    async def timed(search: SealedSearch, *, until: float | None) -> str | None:
        begun = time.monotonic()
        head = await count(search, until=until)
        took.append((time.monotonic() - begun, search.counted_rounds))
        return head

    SealedSearch.count = timed  # type: ignore[method-assign,assignment]
    with agreed_driver(agreed, load_cluster_config(Path(job["cluster"])), folder) as driver:
        (folder / "ready").touch()
        drive(driver, until=time.monotonic() + job["seconds"])
        done = {"plan": driver.plans()[0], "seconds": took[0][0], "rounds": took[0][1]}
        (folder / "done.json").write_text(json.dumps(done))


@contextmanager
def killing(cluster: LocalCluster, node: int | None, after: float) -> Iterator[None]:
    """Kill a node after some seconds, and start it again."""

    def kill() -> None:
        cluster.kill(node or 0)
        mend(cluster)

    timer = threading.Timer(after, kill)
    if node is not None:
        timer.start()
    yield
    if node is not None:
        timer.join()


def freeze(series: EquitySeries, made: AgreedCluster) -> float:
    """Agreement, sealed rows and frozen inputs, as often as it takes."""

    async def once() -> float:
        begun = time.monotonic()
        async with made.coordinator() as coordinator:
            await hand_over(series, made, coordinator)
        return time.monotonic() - begun

    for _ in range(MOST_TRIES - 1):
        try:
            return run(once())
        except Exception as error:
            print(f"  again: {error!r}"[:150], flush=True)
            time.sleep(0.5)
    return run(once())


def search(
    made: AgreedCluster, cluster: LocalCluster, kill_after: float | None
) -> dict[str, object]:
    """Have a process of its own search and open, killed once if that is wanted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {
            "agreement": canonical(made.agreement).hex(),
            "signatures": {who: each.hex() for who, each in made.signatures.items()},
            "manifests": [each.manifest.hex() for each in made.sealed()],
            "cluster": str(cluster.folder / "cluster.toml"),
            "seconds": SECONDS,
        }
        (folder / "job.json").write_text(json.dumps(job))
        for _ in range(MOST_TRIES):
            words = [sys.executable, "-m", "tests.thirty_runs_of_equity", "--drive", name]
            process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            if kill_after is not None:
                while process.poll() is None and not (folder / "ready").exists():
                    time.sleep(0.02)
                time.sleep(kill_after)
                process.kill()
                kill_after = None
            _, said = process.communicate()
            if (folder / "done.json").exists():
                found: dict[str, object] = json.loads((folder / "done.json").read_text())
                return found
            print(f"  the platform starts again: {said.strip()[-150:]!r}", flush=True)
            (folder / "ready").unlink(missing_ok=True)
        raise AssertionError("the run did not come to its end")


def check_series(runs: int, seed: int) -> None:
    """All runs, and what they took."""
    draw = random.Random(seed)
    took, rounds, frozen, kills = [], set(), [], 0
    with LocalCluster() as cluster:
        series = EquitySeries.draft(cluster, names=PARTICIPANTS)
        for number in range(1, runs + 1):
            day = problem_of(number, rows=ROWS, columns=COLUMNS, participants=PARTICIPANTS)
            made = series.next_run(day)
            # Of four runs one is left in peace.
            node, platform = (None, None)
            if number % 4:
                node = draw.choice([None, 0, 1, 2])
                platform = draw.choice([None, draw.uniform(0.1, SECONDS + 1)])
            early = node is not None and draw.random() < 0.3
            kills += (node is not None) + (platform is not None)
            with killing(cluster, node if early else None, draw.uniform(0.0, 0.4)):
                frozen.append(freeze(series, made))
            with killing(cluster, None if early else node, draw.uniform(0.5, SECONDS + 2)):
                found = search(made, cluster, platform)
            plan = found["plan"]
            assert isinstance(plan, list)
            series.clear.count(made, plan)
            assert series.balances() == series.expected(), number
            assert series.books()[0].last == number
            factors = [series.clear.factor(name) for name in series.keys]
            took.append(float(str(found["seconds"])))
            rounds.add(int(str(found["rounds"])))
            print(
                f"run {number}: node {node}, platform {platform}, counted in {took[-1]:.2f} s; "
                f"factors are now {factors}",
                flush=True,
            )
    print(
        f"{runs} runs of {ROWS} x {COLUMNS}, {kills} kills: balances are those of the twin; "
        f"counting took {statistics.median(took):.2f} s in the middle, {sorted(rounds)} rounds"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drive", type=Path)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.drive is not None:
        drive_one(given.drive)
    else:
        check_series(given.runs, given.seed)
