"""Two secret objectives solved exactly: the ground truth's weightings on three local nodes.

    python -m benchmarks.weightings                     the paper's size, all 101 weightings
    python -m benchmarks.weightings --rows 20 --count 21
    python -m benchmarks.weightings --nodes 4 --latency 10
    python -m benchmarks.weightings --json

The nodes solve all weightings in groups, each in one set of rounds, and prove every plan. Counted
are the rounds of all groups one after the other and the bytes of the node that sends most; seconds
are those from the first phase to the last plan, and processor seconds those of all nodes. GD+ and
IGD+ are taken to the ground truth of the same weightings. Where a weighting has several optima, the
nodes may find another than SciPy did (`ties`): the first figures take the one that was found, the
last ones the ground truth as `tacit instance show` has it, by SciPy's choice.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from tacit.search.moves import ExactParameters, exact_parameters_for

Points = NDArray[np.int64]
USUAL = exact_parameters_for(2)


class Counted:
    """Searches of a group whose rounds and bytes add up."""

    def __init__(self, search: Any) -> None:
        self._search, self.rounds, self.sent = search, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._search, name)

    def advance(
        self, count: int, horizon: int, /, *, until: float | None, turn: int | None = None
    ) -> list[bool]:
        """Go on, and count."""
        told: list[bool] = self._search.advance(count, horizon, until=until, turn=turn)
        rounds, sent = self._search.cost
        self.rounds, self.sent = self.rounds + rounds, self.sent + sent
        return told


def distances(problem: Problem, found: Points, truth: Points) -> tuple[float, float]:
    """GD+ and IGD+, of the values of both objectives."""
    signs = np.array([each.sign for each in problem.objectives])
    near, far = distances_plus(found * signs.astype(float), truth * signs.astype(float))
    return float(near), float(far)


def compared(
    problem: Problem, weightings: Sequence[Sequence[int]], plans: list[list[int]]
) -> dict[str, Any]:
    """Plans of all weightings beside those of the ground truth."""
    found = _values(problem, np.array(plans, dtype=np.int32))
    truth = ground_truth(problem).values
    # The ground truth where, of several optima of a weighting, it has the one that was found.
    same, ties, optimal = found.copy(), 0, 0
    for k, factors in enumerate(weightings):
        values = weighted_values(problem, factors)
        best = problem.good_plan(values.astype(np.float64))
        rows = np.arange(problem.rows)
        if values[rows, plans[k]].sum() == values[rows, best].sum():
            optimal += 1
            ties += not (truth == found[k]).all(axis=1).any()
        else:
            same[k] = _values(problem, best[None])[0]
    near, far = distances(problem, found, same)
    near_studied, far_studied = distances(problem, found, truth)
    return {
        "optimal": optimal,
        "gd_plus": near,
        "igd_plus": far,
        "ties": ties,
        "gd_plus_to_other_ties": near_studied,
        "igd_plus_to_other_ties": far_studied,
    }


def _values(problem: Problem, plans: NDArray[np.int32]) -> NDArray[np.int64]:
    columns = [each.sign * problem.fitness(k, plans) for k, each in enumerate(problem.objectives)]
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class Solved:
    """A run of the exact solver on nodes: what was opened, and what it took."""

    opened: list[Any]
    groups: list[int]
    seconds: float
    processor_seconds: float
    rounds: int
    bytes_per_node: int


def solved(
    cluster: LocalCluster,
    problem: Problem,
    weightings: Sequence[Sequence[int]],
    parameters: ExactParameters,
) -> Solved:
    """One run of all weightings, from the first phase to the last plan."""
    sealed = replace(
        problem, objectives=tuple(replace(each, disclosure=Sealed()) for each in problem.objectives)
    )
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
    return Solved(
        [driver._opened[k] for k in range(len(weightings))],
        [len(each.searches) for each in groups],
        seconds,
        used,
        sum(each.rounds for each in groups),
        sum(each.sent for each in groups),
    )


def measured(
    cluster: LocalCluster, problem: Problem, count: int, parameters: ExactParameters
) -> dict[str, Any]:
    """All weightings, beside the ground truth."""
    weightings = even_weightings(problem, count)
    run = solved(cluster, problem, weightings, parameters)
    return {
        "weightings": len(weightings),
        "groups": run.groups,
        "proved": sum(each.outcome == "optimum" for each in run.opened),
        "seconds": run.seconds,
        "processor_seconds": run.processor_seconds,
        "rounds": run.rounds,
        "bytes_per_node": run.bytes_per_node,
        **compared(problem, weightings, [each.plan for each in run.opened]),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.weightings", description=__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--count", type=int, default=101, help="weightings (default: 101)")
    parser.add_argument("--phases", type=int, default=USUAL.phases)
    parser.add_argument("--steps", type=int, default=USUAL.steps)
    parser.add_argument("--together", type=int, default=0, help="weightings in a group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=3, choices=(3, 4))
    parser.add_argument("--latency", type=float, default=0.0, help="one-way, in ms")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    problem = generate_assignment(options.seed, rows=options.rows, objectives=2)
    parameters = ExactParameters(
        phases=options.phases, steps=options.steps, together=options.together
    )
    with LocalCluster(delay_ms=options.latency, nodes=options.nodes) as cluster:
        found = measured(cluster, problem, options.count, parameters)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    for name, value in found.items():
        print(f"{name:18} {value}")


if __name__ == "__main__":
    main()
