"""What a published plan tells of the costs behind it: after few iterations, and the optimum.

    python -m benchmarks.optimal_plans                 a table, some minutes
    python -m benchmarks.optimal_plans --json FILE     also to a file

The audit's attacks on the plan alone, by a platform that knows the range of the costs: the largest
correlation with them that any attack reaches. In the clear; 100 rows, whose run is cut off after 20
generations of block descent and 5 iterations, and the proven optimum.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.assignment_families import FAMILIES, problem_of
from benchmarks.json_files import write_json
from tacit.audit import audit_of, prior_named, record_of_plans
from tacit.disclosure import SEALED
from tacit.engine.derived import KnownTime
from tacit.problems import Problem, optimum
from tacit.runs import Limits, sealed_settings, solve, with_disclosures

ROWS, STEPS = 100, 25
FIRST_SEED, SEEDS = 301, 3


class Told(msgspec.Struct, frozen=True):
    """Correlations of one family, one per seed."""

    early: tuple[float, ...]
    optimal: tuple[float, ...]


def correlation(problem: Problem, plan: list[int]) -> float:
    """What the plan alone tells."""
    record = record_of_plans(problem, [plan], search={"algorithm": SEALED})
    weights = problem.objectives[0].weights
    best = optimum(problem)
    if weights is None or best is None:
        raise SystemExit("the costs or their optimum are not known")
    prior = prior_named("range", record.problem)
    audit = audit_of(record, weights.astype(np.float64), optimum=best.value, priors=[prior])
    return round(audit.plan_only().correlation, 3)


def measure(family: str, rows: int, seeds: int) -> Told:
    """All seeds of a family."""
    early, optimal = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        problem = with_disclosures(problem_of(family, rows, seed), SEALED, None)
        # A deadline so far off fits all generations; the limit counts what is made of them.
        settings = sealed_settings(problem, {}, time=KnownTime(deadline=3600.0))
        found = solve(problem, settings=settings, limits=Limits(generations=STEPS), seed=seed,
                      engine="simulated")  # fmt: skip
        best = optimum(problem)
        if best is None or best.plan is None:
            raise SystemExit("the optimum is not known")
        early.append(correlation(problem, found.best_known.plans[0]))
        optimal.append(correlation(problem, [int(item) for item in best.plan]))
    return Told(tuple(early), tuple(optimal))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many problems of each")
    chosen = parser.parse_args()
    told = {}
    for family in chosen.only:
        told[family] = each = measure(family, chosen.rows, chosen.seeds)
        medians = [statistics.median(values) for values in (each.early, each.optimal)]
        print(f"| {family} | {medians[0]:.2f} | {medians[1]:.2f} |", flush=True)
    write_json(chosen.json, told)


if __name__ == "__main__":
    main()
