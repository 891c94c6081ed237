"""Whether the search gives what the paper reports: all 14 configurations, 31 seeds, generation 500.

    python -m benchmarks.agreement                 everything (about ten minutes on two cores)
    python -m benchmarks.agreement --seeds 7 --instances 2 --json

AP in percent of the optimum, kroD100 as the length of the tour, MOAP as GD+ and IGD+ with one and
with two objectives obfuscated. A figure is the median over seeds, then the median over instances.
The instances of AP and MOAP are our own random ones, so equality is not expected.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from scipy.stats import spearmanr

from tacit.disclosure import PAPER_CONFIGURATIONS, linear, parse_disclosure
from tacit.problems import Problem, generate_assignment, ground_truth, optimum, shipped_problem
from tacit.runs import Limits, Run, simulated_evaluator
from tacit.runs.solve import default_preset
from tacit.search import preset_named

GENERATIONS = 500
SCENARIOS = ("ap", "kroD100", "moap one", "moap two")
TOLERANCE = {"ap": 1.0, "kroD100": 5.0, "moap": 25.0}
"""Percentage points of the optimum for AP; percent of the paper's figure for the others."""
WIDER_TOLERANCE = {"above:95": 40.0}
LEAST_SPEARMAN = {"ap": 0.9, "kroD100": 0.9, "moap": 0.85}


@dataclass(frozen=True)
class Job:
    """One run."""

    scenario: str
    configuration: str
    instance: int
    seed: int


@cache
def instance_of(scenario: str, instance: int) -> Problem:
    """The problem of a scenario before its disclosures are set."""
    if scenario == "kroD100":
        return shipped_problem("kroD100")
    return generate_assignment(1000 + instance, objectives=1 if scenario == "ap" else 2)


@cache
def truth_of(instance: int) -> NDArray[np.int64]:
    """The ground truth of a MOAP instance."""
    return ground_truth(instance_of("moap two", instance)).values


@cache
def optimum_of(scenario: str, instance: int) -> int:
    """The optimum of an instance with one objective."""
    found = optimum(instance_of(scenario, instance))
    if found is None:
        raise RuntimeError(f"{scenario} has no known optimum")
    return found.value


def disclosed(job: Job) -> Problem:
    """The problem with the disclosures of a job."""
    problem = instance_of(job.scenario, job.instance)
    disclosure = parse_disclosure(job.configuration)
    objectives = [replace(each, disclosure=disclosure) for each in problem.objectives]
    if job.scenario == "moap one":
        objectives[1] = replace(objectives[1], confidential=False)
    return replace(problem, objectives=tuple(objectives))


def measure(job: Job) -> tuple[float, ...]:
    """What the estimated-best set of the last generation is worth."""
    problem = disclosed(job)
    run = Run(
        problem,
        preset_named(default_preset(problem)),
        simulated_evaluator(problem, linear),
        seed=job.seed,
        limits=Limits(generations=GENERATIONS),
    )
    run.to_its_limits()
    if not job.scenario.startswith("moap"):
        (mean,) = run.history[-1].actual_mean or (float("nan"),)
        if job.scenario == "ap":
            return (100 * mean / optimum_of("ap", job.instance),)
        return (-mean,)
    state = run.now.search
    plans = problem.plans(state.genomes[state.estimated_best()])
    values = np.stack([problem.fitness(k, plans) for k in range(2)], axis=1)
    return plus_distances(values, truth_of(job.instance))


def plus_distances(found: NDArray[np.int64], truth: NDArray[np.int64]) -> tuple[float, float]:
    """GD+ and IGD+ (Ishibuchi et al. 2015), larger values being better."""
    shortfall = np.maximum(truth[None, :, :] - found[:, None, :], 0).astype(np.float64)
    distances = np.sqrt((shortfall**2).sum(axis=2))
    return float(distances.min(axis=1).mean()), float(distances.min(axis=0).mean())


def medians(
    results: dict[Job, tuple[float, ...]], scenario: str, indicator: int
) -> dict[str, float]:
    """Per configuration the median over instances of the median over seeds."""
    table = {}
    for configuration in PAPER_CONFIGURATIONS:
        chosen = {j: r for j, r in results.items()
                  if j.scenario == scenario and j.configuration == configuration}  # fmt: skip
        per_instance = [
            np.median([r[indicator] for j, r in chosen.items() if j.instance == instance])
            for instance in {j.instance for j in chosen}
        ]
        table[configuration] = float(np.median(per_instance))
    return table


def compare(results: dict[Job, tuple[float, ...]]) -> dict[str, dict[str, object]]:
    """Our medians beside the paper's, column by column."""
    paper = json.loads(files("benchmarks").joinpath("paper_medians.json").read_text())
    columns = [("ap", 0, "ap"), ("kroD100", 0, "kroD100")]
    for scenario in ("moap one", "moap two"):
        columns += [(scenario, 0, f"{scenario} gd+"), (scenario, 1, f"{scenario} igd+")]
    report: dict[str, dict[str, object]] = {}
    for scenario, indicator, name in columns:
        if not any(job.scenario == scenario for job in results):
            continue
        ours = medians(results, scenario, indicator)
        theirs = dict(paper[name])
        if scenario == "ap":
            theirs = {c: 100 * value / paper["ap optimum"] for c, value in theirs.items()}
            off = {c: ours[c] - theirs[c] for c in ours}
        else:
            off = {c: 100 * (ours[c] / theirs[c] - 1) for c in ours}
        kind = scenario.split()[0]
        allowed = {
            c: WIDER_TOLERANCE.get(c, TOLERANCE[kind]) if kind == "moap" else TOLERANCE[kind]
            for c in ours
        }
        rho = float(spearmanr(list(ours.values()), [theirs[c] for c in ours]).statistic)
        report[name] = {
            "ours": ours,
            "paper": theirs,
            "off": off,
            "outside": [c for c in ours if abs(off[c]) > allowed[c]],
            "spearman": rho,
            "agrees": all(abs(off[c]) <= allowed[c] for c in ours) and rho >= LEAST_SPEARMAN[kind],
        }
    return report


def all_jobs(seeds: int, instances: int, scenarios: list[str]) -> list[Job]:
    """Every run; the long ones first, so that the last minutes keep all cores busy."""
    return [
        Job(scenario, configuration, instance, seed)
        for scenario in sorted(scenarios, key=lambda each: each != "kroD100")
        for instance in range(1 if scenario == "kroD100" else instances)
        for configuration in PAPER_CONFIGURATIONS
        for seed in range(seeds)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=31)
    parser.add_argument("--instances", type=int, default=5, help="random ones of AP and MOAP")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
    options = parser.parse_args()
    jobs = all_jobs(options.seeds, options.instances, options.scenario or list(SCENARIOS))
    with ProcessPoolExecutor(options.workers) as pool:
        measured: Iterable[tuple[float, ...]] = pool.map(measure, jobs, chunksize=4)
        if not options.json:
            measured = track(measured, total=len(jobs), description="runs")
        results = dict(zip(jobs, measured, strict=True))
    report = compare(results)
    if options.json:
        print(json.dumps(report, indent=1))
    else:
        show(report)
    sys.exit(0 if all(column["agrees"] for column in report.values()) else 1)


def show(report: dict[str, dict[str, object]]) -> None:
    for name, column in report.items():
        ours, paper, off = column["ours"], column["paper"], column["off"]
        print(f"\n{name}: Spearman {column['spearman']:.3f}, agrees: {column['agrees']}")
        for c in PAPER_CONFIGURATIONS:
            print(f"  {c:14} ours {ours[c]:12.2f}  paper {paper[c]:12.2f}  off {off[c]:+7.2f}")  # type: ignore[index]


if __name__ == "__main__":
    main()
