"""What a published plan tells of the costs behind it: a searched one, and the proven optimum.

    python -m benchmarks.optimal_plans                 a table, some minutes
    python -m benchmarks.optimal_plans --json FILE     also to a file

The audit's attacks on the plan alone, by a platform that knows the range of the costs: the largest
correlation with them that any attack reaches. In the clear; 100 rows.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.sealed_families import FAMILIES
from benchmarks.usual_families import problem_of
from tacit.audit import audit_of, prior_named, record_of_plans
from tacit.disclosure import SEALED
from tacit.problems import Problem, optimum
from tacit.runs import Limits, solve, with_disclosures
from tacit.search.moves import fitted_parameters

ROWS, GENERATIONS = 100, 380
SEEDS = (301, 302, 303)


class Told(msgspec.Struct, frozen=True):
    """Correlations of one family, one per seed."""

    searched: tuple[float, ...]
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


def measure(family: str) -> Told:
    """All seeds of a family."""
    searched, optimal = [], []
    for seed in SEEDS:
        problem = with_disclosures(problem_of(family, ROWS, seed), SEALED, None)
        found = solve(problem, settings=fitted_parameters(problem), seed=seed,
                      limits=Limits(generations=GENERATIONS), engine="simulated")  # fmt: skip
        best = optimum(problem)
        if best is None or best.plan is None:
            raise SystemExit("the optimum is not known")
        searched.append(correlation(problem, found.best_known.plans[0]))
        optimal.append(correlation(problem, [int(item) for item in best.plan]))
    return Told(tuple(searched), tuple(optimal))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--only", nargs="*", choices=FAMILIES, default=list(FAMILIES))
    chosen = parser.parse_args()
    told = {}
    for family in chosen.only:
        told[family] = each = measure(family)
        medians = [statistics.median(values) for values in (each.searched, each.optimal)]
        print(f"| {family} | {medians[0]:.2f} | {medians[1]:.2f} |", flush=True)
    if chosen.json is not None:
        encoded = msgspec.json.format(msgspec.json.encode(told), indent=1)
        chosen.json.write_bytes(encoded + b"\n")


if __name__ == "__main__":
    main()
