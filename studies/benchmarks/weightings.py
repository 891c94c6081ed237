"""Two secret objectives solved exactly: the ground truth's weightings on three local nodes.

    python -m studies.benchmarks.weightings                     the paper's size, all 101 weightings
    python -m studies.benchmarks.weightings --rows 20 --count 21
    python -m studies.benchmarks.weightings --nodes 4 --latency 10
    python -m studies.benchmarks.weightings --json FILE

The nodes solve all weightings in groups, each in one set of rounds, and prove every plan. Counted
are the rounds of all groups one after the other and the bytes of the node that sends most; seconds
are those from the first step to the last plan, and processor seconds those of all nodes. GD+ and
IGD+ are taken to the ground truth of the same weightings. Where a weighting has several optima, the
nodes may find another than SciPy did (`ties`): the first figures take the one that was found, the
last ones the ground truth as `tacit instance show` has it, by SciPy's choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from studies.benchmarks.measuring import options_of, write_json
from studies.benchmarks.solved_on_nodes import settings_for, solved
from studies.statistics import distances_plus
from tacit.local import LocalCluster
from tacit.problems import Problem, generate_assignment, ground_truth
from tacit.runs import even_weightings
from tacit.search import weighted_values
from tacit.search.moves import AssignmentParameters

Points = NDArray[np.int64]


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


def measured(
    cluster: LocalCluster, problem: Problem, count: int, parameters: AssignmentParameters
) -> dict[str, Any]:
    """All weightings, beside the ground truth."""
    weightings = even_weightings(problem, count)
    run = solved(cluster, problem, weightings, parameters)
    return {
        "weightings": len(weightings),
        "groups": run.groups,
        "steps": parameters.steps,
        "proved": run.proved,
        "seconds": run.seconds,
        "processor_seconds": run.processor_seconds,
        "rounds": run.rounds,
        "bytes_per_node": run.bytes_per_node,
        **compared(problem, weightings, [each.plan for each in run.opened]),
    }


def main() -> None:
    """Measure and print."""
    parser = options_of(__file__, __doc__, seeds=1, nodes=3, latency=True)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--count", type=int, default=101, help="weightings (default: 101)")
    parser.add_argument("--iterations", type=int, default=0, help="default: 1.2 per row")
    parser.add_argument("--together", type=int, default=0, help="weightings in a group")
    options = parser.parse_args()
    found = []
    with LocalCluster(delay_ms=options.latency, nodes=options.nodes) as cluster:
        for seed in range(1, 1 + options.seeds):
            problem = generate_assignment(seed, rows=options.rows, objectives=2)
            parameters = settings_for(
                problem,
                even_weightings(problem, options.count),
                {"iterations": options.iterations, "together": options.together},
                deadline=None,
                nodes=options.nodes,
                delay=options.latency / 1000,
            )
            found.append({"rows": options.rows, "seed": seed, "nodes": options.nodes,
                          "latency_ms": options.latency,
                          **measured(cluster, problem, options.count, parameters)})  # fmt: skip
            write_json(options.json, found)
            for name, value in found[-1].items():
                print(f"{name:22} {value}", flush=True)


if __name__ == "__main__":
    main()
