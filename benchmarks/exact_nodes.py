"""Proved optima of secret assignments on three or four real nodes, over TLS.

    python -m benchmarks.exact_nodes                        100 x 100, one problem
    python -m benchmarks.exact_nodes --runs 31
    python -m benchmarks.exact_nodes --rows 200 --runs 3
    python -m benchmarks.exact_nodes --latency 10 --json

Independent uniform weights, the paper's AP, and the solver's own settings. Rounds and the bytes of
the node that sends most are those of the phases; seconds go from the first phase to the plan.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.weightings import solved
from tacit.engine.local.cluster import LocalCluster
from tacit.problems import generate_assignment
from tacit.search import weighted_values
from tacit.search.moves import ExactParameters, exact_parameters_for


def one(cluster: LocalCluster, rows: int, seed: int, parameters: ExactParameters) -> dict[str, Any]:
    """One problem: whether it is proved, how good its plan is, and what it took."""
    problem = generate_assignment(seed, rows=rows)
    run = solved(cluster, problem, [(1,)], parameters)
    best = problem.good_plan(weighted_values(problem, (1,)).astype(np.float64))
    plans = np.array([run.opened[0].plan, best], dtype=np.int32)
    found, optimum = problem.fitness(0, plans)
    return {
        "seed": seed,
        "proved": run.opened[0].outcome == "optimum",
        "quality": 100.0 * float(found) / float(optimum),
        "seconds": run.seconds,
        "processor_seconds": run.processor_seconds,
        "rounds": run.rounds,
        "bytes_per_node": run.bytes_per_node,
    }


def summary(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Of all problems: medians, and the worst time."""
    middle = {
        name: statistics.median(each[name] for each in runs)
        for name in ("quality", "seconds", "processor_seconds", "rounds", "bytes_per_node")
    }
    return {
        "runs": len(runs),
        "proved": sum(each["proved"] for each in runs),
        **middle,
        "most_seconds": max(each["seconds"] for each in runs),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.exact_nodes", description=__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--runs", type=int, default=1, help="problems, by seeds from --seed on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--phases", type=int, help="default: by the size")
    parser.add_argument("--steps", type=int, help="default: by the size")
    parser.add_argument("--nodes", type=int, default=3, choices=(3, 4))
    parser.add_argument("--latency", type=float, default=0.0, help="one-way, in ms")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    usual = exact_parameters_for(1, options.rows)
    parameters = replace(
        usual, phases=options.phases or usual.phases, steps=options.steps or usual.steps
    )
    with LocalCluster(delay_ms=options.latency, nodes=options.nodes) as cluster:
        one(cluster, 10, 0, ExactParameters(phases=2))  # kernels are loaded
        runs = [
            one(cluster, options.rows, options.seed + k, parameters) for k in range(options.runs)
        ]
    found = {"rows": options.rows, "nodes": options.nodes, "latency": options.latency}
    found |= summary(runs)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{name:18} {value}")


if __name__ == "__main__":
    main()
