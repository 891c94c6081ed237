"""Sealed runs on three local nodes: the pace of their steps, and what they find by a deadline.

    python -m studies.benchmarks.sealed                      pace of a step, a table
    python -m studies.benchmarks.sealed --runs 11            also what 11 runs of each kind find
    python -m studies.benchmarks.sealed --latency 10 --runs 3   with 10 ms one-way delay
    python -m studies.benchmarks.sealed --parents 4          tours with several parents
    python -m studies.benchmarks.sealed --json FILE          writes the same

The 100x100 assignment of seed 1 and kroD100, with what a run takes where nothing is said. Pace:
wall-clock and processor time of a node per iteration of the assignment, or per generation of the
tour, rounds, and megabytes of the node that sends most. Quality: within 40 s for the assignment,
which ends when its iterations are through, and 60 s for the tour; with a latency 135 s for both.
The nodes draw seed and start, so every run is another.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from studies.benchmarks.engine import processor_seconds
from studies.benchmarks.measuring import options_of, write_json
from tacit.agreement import pin_sealed
from tacit.derived import KnownTime
from tacit.disclosure import BestMode, Sealed
from tacit.local import LocalCluster, open_engine
from tacit.problems import Problem, generate_assignment, shipped_problem
from tacit.runs import EngineChoice, sealed_settings, solve
from tacit.search.moves import AssignmentParameters, TourParameters

WARM_UP = 10


@dataclass(frozen=True)
class Work:
    """What is searched, how, and for how long where quality is looked at."""

    name: str
    problem: Problem
    parameters: TourParameters | AssignmentParameters
    seconds: float | None = None


def all_work(*, latency: float, parents: int | None) -> list[Work]:
    """Both runs that are measured."""

    def usual(name: str, problem: Problem, seconds: float, changes: dict[str, int]) -> Work:
        """With what a run takes that has so much time."""
        time = KnownTime(deadline=seconds, delay=latency / 1000)
        return Work(name, problem, sealed_settings(problem, changes, time=time), seconds)

    changes = {} if parents is None else {"parents": parents}
    return [
        usual("assignment", generate_assignment(1), 135.0 if latency else 40.0, {}),
        usual("tour", shipped_problem("kroD100"), 135.0 if latency else 60.0, changes),
    ]


def pace(work: Work, cluster: LocalCluster, *, generations: int) -> dict[str, float]:
    """What one generation of a tour, or one iteration of an assignment, takes and sends."""
    objective = replace(work.problem.objectives[0], disclosure=Sealed(), best_mode=BestMode.NOTHING)
    parameters, before_them = work.parameters, WARM_UP
    if isinstance(parameters, AssignmentParameters):
        parameters = replace(parameters, iterations=WARM_UP + generations, least=0)
        before_them += parameters.generations
    engine, signatures, rows = open_engine(
        replace(work.problem, objectives=(objective,)),
        cluster.config,
        search=pin_sealed(parameters),
        evaluations=before_them + generations,
        population=(1, 1),
    )
    with engine:
        engine.start(signatures, rows)
        search = engine.sealed(0)
        search.start()
        search.advance(before_them, 1000, until=None)
        before = [processor_seconds(node.pid) for node in cluster.processes]
        started = time.perf_counter()
        search.advance(generations, 1000, until=None)
        seconds = time.perf_counter() - started
        used = [
            processor_seconds(node.pid) - then
            for node, then in zip(cluster.processes, before, strict=True)
        ]
        rounds, sent = search.cost
        engine.end_agreement()
    return {
        "ms": 1000 * seconds / generations,
        "node_cpu_ms": 1000 * statistics.mean(used) / generations,
        "rounds": round(rounds / generations, 1),
        "megabytes_per_node": sent / generations / 1e6,
    }


def quality(work: Work, config: Path, *, runs: int) -> dict[str, Any]:
    """What a search finds by its deadline, in percent of the optimum."""
    found = [
        solve(
            work.problem,
            disclose="sealed",
            deadline=work.seconds,
            settings=work.parameters,
            engine=EngineChoice(cluster=config),
        )
        for _ in range(runs)
    ]
    percents = [each.percent_of_optimum or 0.0 for each in found]
    return {
        "seconds": work.seconds,
        "percent": percents,
        "median_percent": statistics.median(percents),
        "median_generations": statistics.median(each.generations for each in found),
        "proved": sum(bool(each.proved) for each in found),
        "median_seconds": statistics.median(each.timing.seconds for each in found if each.timing),
        "latest": max(each.timing.seconds for each in found if each.timing is not None),
    }


def main() -> None:
    parser = options_of(__file__, __doc__, latency=True)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--only", default="", help="searches whose name begins so")
    parser.add_argument("--parents", type=int, help="in place of the usual number")
    options = parser.parse_args()
    results: dict[str, dict[str, Any]] = {}
    with LocalCluster(delay_ms=options.latency) as cluster:
        for work in all_work(latency=options.latency, parents=options.parents):
            if not work.name.startswith(options.only):
                continue
            results[work.name] = dict(pace(work, cluster, generations=options.generations))
            if options.runs and work.seconds is not None:
                config = cluster.folder / "cluster.toml"
                results[work.name]["quality"] = quality(work, config, runs=options.runs)
    write_json(options.json, {"latency_ms": options.latency, "searches": results})
    for name, each in results.items():
        print(
            f"{name:22} {each['ms']:6.1f} ms  {each['node_cpu_ms']:6.1f} ms of a node's processor  "
            f"{each['rounds']:g} rounds  {each['megabytes_per_node']:.2f} MB"
        )
        if "quality" in each:
            q = each["quality"]
            print(
                f"{'':22} {q['median_percent']:.2f} % of the optimum in {q['seconds']:g} s, "
                f"{q['median_generations']:g} steps (medians of {len(q['percent'])} runs)"
            )


if __name__ == "__main__":
    main()
