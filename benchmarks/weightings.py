"""Two secret objectives solved exactly: the ground truth's weightings on three local nodes.

    python -m benchmarks.weightings                     the paper's size, all 101 weightings
    python -m benchmarks.weightings --rows 20 --count 21
    python -m benchmarks.weightings --nodes 4 --latency 10
    python -m benchmarks.weightings --json

The nodes solve all weightings in groups, each in one set of rounds, and prove every plan. Counted
are the rounds of all groups one after the other and the bytes of the node that sends most; seconds
are those from the first phase to the last plan, and processor seconds those of all nodes. GD+ and
IGD+ are taken to the ground truth as `tacit instance show` has it. Where several plans are optimal
for a weighting, the nodes may find another than the ground truth has (`ties`).
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.sealed import processor_seconds
from tacit.disclosure import Sealed
from tacit.engine.agreement.sealed import pin_sealed
from tacit.engine.local.cluster import LocalCluster
from tacit.engine.local.engine import open_engine
from tacit.experiments.quality import distances_plus
from tacit.problems import Problem, generate_assignment, ground_truth
from tacit.runs import SealedDriver, drive, even_weightings
from tacit.runs.limits import Limits
from tacit.runs.sealed.exact import phases_of
from tacit.search import weighted_values
from tacit.search.moves import ExactParameters


class Counted:
    """Searches of a group whose rounds and bytes add up."""

    def __init__(self, search: Any) -> None:
        self._search, self.rounds, self.sent = search, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._search, name)

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> list[bool]:
        """Go on, and count."""
        told: list[bool] = self._search.advance(count, horizon, until=until)
        rounds, sent = self._search.cost
        self.rounds, self.sent = self.rounds + rounds, self.sent + sent
        return told


def fronts(problem: Problem, plans: list[list[int]]) -> tuple[float, float]:
    """GD+ and IGD+ of plans, by the fitness of both objectives."""
    signs = np.array([each.sign for each in problem.objectives])
    truth = ground_truth(problem).values * signs
    found = np.stack(
        [problem.fitness(k, np.array(plans, dtype=np.int32)) for k in range(2)], axis=1
    )
    near, far = distances_plus(found.astype(np.float64), truth.astype(np.float64))
    return float(near), float(far)


def optimal(problem: Problem, weightings: list[tuple[int, ...]], plans: list[list[int]]) -> int:
    """How many plans are worth what the best one is worth, by their weighting."""
    count = 0
    for factors, plan in zip(weightings, plans, strict=True):
        values = weighted_values(problem, factors)
        best = problem.good_plan(values.astype(np.float64))
        rows = np.arange(len(plan))
        count += int(values[rows, plan].sum() == values[rows, best].sum())
    return count


def measured(
    cluster: LocalCluster, problem: Problem, count: int, parameters: ExactParameters
) -> dict[str, Any]:
    """One run of all weightings."""
    sealed = replace(
        problem, objectives=tuple(replace(each, disclosure=Sealed()) for each in problem.objectives)
    )
    weightings = even_weightings(problem, count)
    phases = phases_of(problem, parameters, weightings)
    engine, signatures, rows = open_engine(
        sealed,
        cluster.config,
        search=pin_sealed(parameters, weightings),
        evaluations=phases,
        population=(1, 1),
    )
    with engine:
        engine.start(signatures, rows)
        groups = [Counted(each) for each in engine.sealed_groups()]
        used = sum(processor_seconds(node.pid) for node in cluster.processes)
        begun = time.perf_counter()
        for each in groups:
            each.start()
        driver = SealedDriver(sealed, groups, Limits(generations=phases), parameters, weightings)
        drive(driver)
        seconds = time.perf_counter() - begun
        used = sum(processor_seconds(node.pid) for node in cluster.processes) - used
    found = [driver._opened[k] for k in range(len(weightings))]
    plans = [each.plan for each in found]
    near, far = fronts(problem, plans)
    return {
        "weightings": len(weightings),
        "groups": [len(each.searches) for each in groups],
        "proved": sum(each.outcome == "optimum" for each in found),
        "optimal": optimal(problem, weightings, plans),
        "seconds": seconds,
        "processor_seconds": used,
        "rounds": sum(each.rounds for each in groups),
        "bytes_per_node": sum(each.sent for each in groups),
        "gd_plus": near,
        "igd_plus": far,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weightings", description=__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--count", type=int, default=101, help="weightings (default: 101)")
    parser.add_argument("--phases", type=int, default=ExactParameters().phases)
    parser.add_argument("--together", type=int, default=0, help="weightings in a group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3, choices=(3, 4))
    parser.add_argument("--latency", type=float, default=0.0, help="one-way, in ms")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    problem = generate_assignment(options.seed, rows=options.rows, objectives=2)
    parameters = ExactParameters(phases=options.phases, together=options.together)
    with LocalCluster(delay_ms=options.latency, nodes=options.nodes) as cluster:
        found = measured(cluster, problem, options.count, parameters)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:18} {value}")


if __name__ == "__main__":
    main()
