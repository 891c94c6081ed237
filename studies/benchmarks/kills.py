"""A node killed or stopped at any time: whether runs answer by their deadline, and what it costs.

    python -m studies.benchmarks.kills  50 runs on four nodes that may lose one
    python -m studies.benchmarks.kills --nodes 3 --runs 20  on three, which wait for the lost one
    python -m studies.benchmarks.kills --json FILE  writes the same

Each run evaluates, or searches sealed, until its deadline. In the middle a random node is killed,
or stopped without a word. A run has answered if answers came after that, a sealed search if its
plan was opened in time. The cost of a loss is the longest time between two answers.
"""

from __future__ import annotations

import itertools
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from studies.benchmarks.measuring import options_of, write_json
from tacit.agreement import pin_sealed
from tacit.agreement.terms import OnLoss, PinnedSearch
from tacit.coordinator.secure import SecureEngine, SecureObjective
from tacit.disclosure import BestMode, Sealed, parse_best_mode, parse_disclosure
from tacit.errors import PeerError, TacitError
from tacit.local.cluster import LocalCluster
from tacit.local.engine import EngineRules, open_engine
from tacit.problems import Problem, generate_assignment
from tacit.search.moves import AssignmentParameters

T = TypeVar("T")
ROWS, POPULATION = 30, 100
STEPS = 100_000
"""More than fit any deadline here, of evaluations and of iterations."""
START_SECONDS = 30.0
GRACE = 1.0
"""Seconds without a sign of life after which a node is lost: short, as these runs are."""
LATE = 0.5
"""Seconds after the deadline that still count as in time, on a machine that does all of it."""


@dataclass(frozen=True)
class Outcome:
    """One run."""

    mode: str
    how: str
    node: int
    after: float
    before: int
    """Answers before the loss."""
    since: int
    """Answers after it."""
    gap: float
    """The longest time between two answers, in seconds."""
    late: float
    """How long after the deadline the run ended."""
    answered: bool


def _evaluating(engine: SecureEngine, until: float, answers: list[float]) -> bool:
    rng = np.random.default_rng(1)
    evaluator = SecureObjective(engine, 0)
    plans = np.tile(np.arange(ROWS, dtype=np.int32), (POPULATION, 1))
    try:
        while time.monotonic() < until:
            evaluator.evaluate(rng.permuted(plans, axis=1), until=until)
            answers.append(time.monotonic())
    except PeerError:
        pass  # the deadline cut the last one off
    return True


def _sealed(engine: SecureEngine, until: float, answers: list[float]) -> bool:
    search = engine.sealed(0)
    try:
        search.start(until=until - 1.0)
        while time.monotonic() < until - 1.0:
            search.advance(5, 1000, until=until - 1.0)
            answers.append(time.monotonic())
    except PeerError:
        pass
    try:
        return sorted(search.open(0, until=until).plan) == list(range(ROWS))
    except TacitError as error:
        print(error, file=sys.stderr)
        return False


def _problem(mode: str) -> Problem:
    made = generate_assignment(1, rows=ROWS)
    disclosure = Sealed() if mode == "sealed" else parse_disclosure("top:15")
    best = BestMode("nothing") if mode == "sealed" else parse_best_mode("nothing")
    return replace(
        made, objectives=(replace(made.objectives[0], disclosure=disclosure, best_mode=best),)
    )


def run(cluster: LocalCluster, rng: random.Random, *, seconds: float, on_loss: OnLoss) -> Outcome:
    """One run with one loss."""
    mode, how = rng.choice(["evaluating", "sealed"]), rng.choice(["killed", "stopped"])
    node, after = rng.randrange(len(cluster.processes)), rng.uniform(0.0, 0.3 * seconds)
    pinned = (
        pin_sealed(AssignmentParameters(iterations=STEPS))
        if mode == "sealed"
        else PinnedSearch("genetic", {}, 1, "chosen")
    )
    engine, signatures, sealed = _opened(
        lambda: open_engine(
            _problem(mode),
            cluster.config,
            search=pinned,
            evaluations=STEPS,
            population=(POPULATION, POPULATION),
            rules=EngineRules(on_loss=on_loss, grace_seconds=GRACE),
        )
    )
    answers: list[float] = []
    lost_at: list[float] = []

    def lose() -> None:
        lost_at.append(time.monotonic())
        if how == "killed":
            cluster.kill(node)
        else:
            cluster.processes[node].send_signal(signal.SIGSTOP)

    with engine:
        engine.start(signatures, sealed)
        answers.append(time.monotonic())
        until = time.monotonic() + seconds
        timer = threading.Timer(after, lose)
        timer.start()
        fine = (_sealed if mode == "sealed" else _evaluating)(engine, until, answers)
        late = time.monotonic() - until
        timer.join()
    if how == "killed":
        cluster.restart(node)
    else:
        cluster.processes[node].send_signal(signal.SIGCONT)
    gaps = [b - a for a, b in itertools.pairwise(answers)]
    since = sum(each > lost_at[0] + 0.1 for each in answers)
    return Outcome(
        mode,
        how,
        node,
        after,
        before=len(answers) - since,
        since=since,
        gap=max(gaps, default=seconds),
        late=late,
        answered=fine and late < LATE and (since > 0 or mode == "sealed"),
    )


def _opened(make: Callable[[], T]) -> T:
    """The same again until a node that was started a moment ago listens."""
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return make()
        except PeerError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def _show(number: int, each: Outcome) -> str:
    return (
        f"{number:3} {each.mode:10} node {each.node} {each.how:7} after {each.after:4.1f} s: "
        f"{each.before:4} answers before, {each.since:4} after, longest gap {each.gap:4.2f} s"
        f"{'' if each.answered else '  NOT ANSWERED'}"
    )


def main() -> int:
    parser = options_of(__file__, __doc__, nodes=4)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    on_loss: OnLoss = "three" if options.nodes == 4 else "wait"
    rng = random.Random(options.seed)
    outcomes: list[Outcome] = []
    with LocalCluster(nodes=options.nodes, chosen_populations=True, timeout_seconds=5.0) as cluster:
        for number in range(options.runs):
            outcomes.append(run(cluster, rng, seconds=options.seconds, on_loss=on_loss))
            print(_show(number, outcomes[-1]), flush=True)
    killed = [each.gap for each in outcomes if each.how == "killed"]
    summary = {
        "nodes": options.nodes,
        "runs": len(outcomes),
        "answered": sum(each.answered for each in outcomes),
        "gap_killed_median": statistics.median(killed) if killed else None,
        "gap_killed_largest": max(killed, default=None),
        "gap_stopped_largest": max((e.gap for e in outcomes if e.how == "stopped"), default=None),
    }
    write_json(options.json, {**summary, "each": outcomes})
    print(summary)
    return 0 if summary["answered"] == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
