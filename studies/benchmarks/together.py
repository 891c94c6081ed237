"""Two objectives on real nodes: evaluated apart, and together as a Pareto score.

    python -m studies.benchmarks.together [--nodes 3] [--latency 10] [--repeats 15] [--json FILE]

Per evaluation of 300 candidates of 100 x 100: seconds, processor time, rounds, bytes per node.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import numpy as np

from studies.benchmarks.engine import processor_seconds
from studies.benchmarks.measuring import options_of, write_json
from tacit.agreement import PinnedSearch
from tacit.coordinator import SecureEngine, SecureObjective
from tacit.evaluators import ParetoObjectives, SeparateObjectives
from tacit.local import LocalCluster, open_engine
from tacit.problems import generate_assignment
from tacit.runs import with_disclosures

CONFIGURATIONS = ("quantiles:5", "top:60", "pareto:order", "pareto:quantiles:20", "pareto:top:60")
WARM_UPS = 3
Plans = np.ndarray[tuple[int, int], np.dtype[np.int32]]


def evaluator_of(engine: SecureEngine, disclosure: str) -> SeparateObjectives:
    if disclosure.startswith("pareto:"):
        return ParetoObjectives(SecureObjective(engine, 0), 2)
    return SeparateObjectives(tuple(SecureObjective(engine, k) for k in range(2)))


def measure(
    cluster: LocalCluster, disclosure: str, plans: Sequence[Plans]
) -> dict[str, float | int]:
    """One configuration, its first evaluations to warm up."""
    size = plans[0].shape[1]
    problem = with_disclosures(generate_assignment(1, rows=size, objectives=2), disclosure, None)
    engine, signatures, sealed = open_engine(
        problem,
        cluster.config,
        search=PinnedSearch("nsga2", {}, seed=1),
        evaluations=len(plans),
        population=(len(plans[0]), len(plans[0])),
    )
    with engine:
        engine.start(signatures, sealed)
        evaluator, times, before = evaluator_of(engine, disclosure), [], 0.0

        def used() -> float:
            for k in engine.agreement.evaluated():
                settling = engine.evaluations(k).settle(until=None)
                engine.wait(engine.submit(settling), until=None)
            return statistics.mean(processor_seconds(each.pid) for each in cluster.processes)

        for number, each in enumerate(plans):
            if number == WARM_UPS:
                before = used()
            started = time.perf_counter()
            evaluator.evaluate(each, until=None)
            times.append(time.perf_counter() - started)
        spent = (used() - before) / (len(plans) - WARM_UPS)
        asked = [engine.evaluations(k) for k in engine.agreement.evaluated()]
        return {
            "seconds": statistics.median(times[WARM_UPS:]),
            "least_seconds": min(times[WARM_UPS:]),
            "processor_seconds_per_node": spent,
            "rounds": max(each.rounds for each in asked),
            "bytes_per_node": sum(each.sent for each in asked),
        }


def main() -> None:
    parser = options_of(__file__, __doc__, nodes=3, latency=True)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    plans = [
        rng.permuted(np.tile(np.arange(100, dtype=np.int32), (300, 1)), axis=1)
        for _ in range(options.repeats + WARM_UPS)
    ]
    with LocalCluster(
        nodes=options.nodes, delay_ms=options.latency, chosen_populations=True
    ) as cluster:
        found = {each: measure(cluster, each, plans) for each in CONFIGURATIONS}
    content = {"nodes": options.nodes, "latency_ms": options.latency, "found": found}
    write_json(options.json, content)
    for name, each in found.items():
        print(
            f"{name:20} {1000 * each['seconds']:7.1f} ms  least {1000 * each['least_seconds']:7.1f}"
            f"  processor {1000 * each['processor_seconds_per_node']:6.1f} ms  "
            f"{each['rounds']} rounds  {each['bytes_per_node']:,} bytes"
        )


if __name__ == "__main__":
    main()
