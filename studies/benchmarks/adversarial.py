"""Sealed assignments of adversarial costs: a plan that is said to be optimal is the optimum.

    python -m studies.benchmarks.adversarial  1,000 instances in the clear
    python -m studies.benchmarks.adversarial --seeds 2 --only gcd cyclic
    python -m studies.benchmarks.adversarial --latency 10  as they are drafted for slow links
    python -m studies.benchmarks.adversarial --nodes 20  and 20 of them on three local nodes
    python -m studies.benchmarks.adversarial --json FILE

Families by public rules (`adversarial_costs`), 8 to 150 rows, with four iterations per place. Every
plan is compared with SciPy's; a problem without a plan must be refused. The command fails where a
plan is said to be optimal and is not, or is not feasible; it names those that are not proved.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import msgspec
import numpy as np
from scipy.optimize import linear_sum_assignment

from studies.benchmarks.adversarial_costs import FAMILIES, Instance, instance
from studies.benchmarks.measuring import options_of, write_json
from tacit.derived import KnownTime
from tacit.errors import ParameterError, ProblemError
from tacit.local import LocalCluster
from tacit.runs import EngineChoice, sealed_settings, solve

PER_PLACE = 4
SIZES = (8, 13, 21, 34, 55, 89, 120, 150)
INSTANCES = 1000


class Run(msgspec.Struct, frozen=True):
    """One instance, and what came of it."""

    family: str
    rows: int
    seed: int
    outcome: str
    """`proved`, `optimal` where that is not proved, `worse`, `refused` where there is no plan, or
    `WRONG`."""
    on_nodes: bool = False


def optimum(asked: Instance, /) -> int | None:
    """What the best plan costs by SciPy; None if there is none."""
    costs = asked.costs.astype(np.float64)
    if asked.forbidden is not None:
        costs[asked.forbidden] = np.inf
    if asked.capacities is not None:
        costs = np.repeat(costs, asked.capacities, axis=1)
    try:
        rows, columns = linear_sum_assignment(costs)
    except ValueError:
        return None
    return int(costs[rows, columns].sum())


def is_feasible(asked: Instance, plan: Sequence[int], /) -> bool:
    """Whether every row has an allowed column with room, by counting."""
    rows, columns = asked.costs.shape
    room = asked.capacities or (1,) * columns
    used = Counter(plan)
    allowed = asked.forbidden is None or not asked.forbidden[range(rows), list(plan)].any()
    return len(plan) == rows and allowed and all(used[k] <= room[k] for k in used)


def run_of(
    family: str,
    size: int,
    seed: int,
    delay: float = 0.0,
    engine: EngineChoice | str = "simulated",
) -> Run:
    """Solve one instance and judge its plan."""
    asked = instance(family, size, seed)
    best, rows = optimum(asked), len(asked.costs)
    on_nodes = engine != "simulated"
    try:
        problem = asked.problem(f"{family} {size}")
        changes = {"iterations": PER_PLACE * len(problem.sealed_items)}
        settings = sealed_settings(problem, changes, time=KnownTime(deadline=None, delay=delay))
        found = solve(problem, disclose="sealed", settings=settings, engine=engine, seed=seed)
    except (ParameterError, ProblemError):
        return Run(family, rows, seed, "WRONG" if best is not None else "refused", on_nodes)
    plan = list(found.plan)
    cost = int(asked.costs[range(rows), plan].sum()) if is_feasible(asked, plan) else None
    if best is None or cost is None or cost < best or (found.proved and cost != best):
        return Run(family, rows, seed, "WRONG", on_nodes)
    outcome = "proved" if found.proved else "optimal" if cost == best else "worse"
    return Run(family, rows, seed, outcome, on_nodes)


Job = tuple[str, int, int, float]


def jobs(
    families: Sequence[str], sizes: Sequence[int], count: int, delay: float = 0.0
) -> list[Job]:
    """So many instances, families and sizes in turn."""
    return [
        (families[k % len(families)], sizes[k // len(families) % len(sizes)], k, delay)
        for k in range(count)
    ]


def _one(job: Job) -> Run:
    return run_of(*job)


def measure(chosen: Sequence[Job], on_nodes: int) -> Iterator[Run]:
    """All instances in the clear, then some of them on one cluster."""
    with ProcessPoolExecutor(2) as pool:
        yield from pool.map(_one, chosen)
    if on_nodes:
        step = max(1, len(chosen) // on_nodes)
        with LocalCluster() as cluster:
            engine = EngineChoice(cluster=cluster.folder / "cluster.toml")
            for job in chosen[::step][:on_nodes]:
                yield run_of(*job, engine)


def main() -> int:
    """Measure and print."""
    parser = options_of(__file__, __doc__, only=list(FAMILIES), rows=SIZES, latency=True)
    parser.add_argument("--seeds", type=int, help="instances of each family and size")
    parser.add_argument("--nodes", type=int, default=0, metavar="N", help="so many on nodes, too")
    options = parser.parse_args()
    each = len(options.only) * len(options.rows)
    count = INSTANCES if options.seeds is None else options.seeds * each
    runs: list[Run] = []
    chosen = jobs(options.only, options.rows, count, options.latency / 1000)
    for run in measure(chosen, options.nodes):
        if run.outcome not in ("proved", "refused") or run.on_nodes:
            print(run, flush=True)
        runs.append(run)
        if len(runs) % 100 == 0:
            print(len(runs), dict(Counter(each.outcome for each in runs)), flush=True)
    write_json(options.json, runs)
    print(len(runs), "instances of", len(options.only), "families:",
          dict(Counter(each.outcome for each in runs)))  # fmt: skip
    return int(any(each.outcome == "WRONG" for each in runs))


if __name__ == "__main__":
    sys.exit(main())
