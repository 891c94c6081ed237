"""The golden runs: what they are and how one is summed up."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from tacit.problems import Problem, generate_assignment, shipped_problem
from tacit.runs import Limits
from tacit.search import Ties, preset_named
from tacit.search.moves import AssignmentParameters
from tests.support.simulated import solve

GENERATIONS = 30
ASSIGNMENT = AssignmentParameters(generations=10, iterations=20, lag=1)
"""Not what fits the time by the model of the day, which is measured anew now and then."""
DISCLOSURES = ("none", "order", "quantiles:20", "buckets:5", "top:15", "above:90")


def problem_of(preset: str) -> Problem:
    """The problem that a preset was tuned for."""
    if preset.endswith("-tsp"):
        return shipped_problem("kroD100")
    return generate_assignment(1, objectives=2 if preset == "paper-moap" else 1)


def golden_run(preset: str, disclosure: str, best: str, *, ties: Ties = "random") -> dict[str, Any]:
    """One run as a golden file keeps it."""
    problem = problem_of(preset)
    # The optimum is SciPy's; the golden runs pin down the search alone.
    problem = replace(problem, optimum=problem.optimum or 1)
    result = solve(
        problem,
        settings=preset_named(preset).with_changes(ties=ties),
        disclose=disclosure,
        best=best,
        limits=Limits(generations=GENERATIONS),
        seed=1,
        engine="simulated",
    )
    written = result.to_json(timing=False)
    return {
        "disclose": disclosure,
        "best": best,
        "value": result.value,
        "set_size": result.history.set_size[-1],
        "sha256": hashlib.sha256(written).hexdigest(),
    }


def golden_ties_first() -> dict[str, Any]:
    """Runs whose ties go to the candidate that is evaluated first."""
    runs = [
        {"preset": preset, **golden_run(preset, disclosure, "value", ties="first")}
        for preset in ("paper-ap", "paper-tsp", "paper-moap")
        for disclosure in DISCLOSURES
    ]
    return {
        "about": "python -m tests.golden.regenerate writes this file; see there when to",
        "generations": GENERATIONS,
        "seed": 1,
        "runs": runs,
    }


def golden_sealed() -> dict[str, Any]:
    """Sealed runs in the clear: an assignment, a tour, and several weightings."""
    runs = []
    for preset in ("paper-ap", "paper-tsp", "paper-moap"):
        problem = problem_of(preset)
        problem = replace(problem, optimum=problem.optimum or 1)
        for best in ("nothing", "value"):
            result = solve(
                problem,
                disclose="sealed",
                best=best,
                settings=ASSIGNMENT if problem.sealed_moves == "assignment" else None,
                limits=Limits(generations=GENERATIONS),
                seed=1,
                engine="simulated",
            )
            digest = hashlib.sha256(result.to_json(timing=False)).hexdigest()
            runs.append(
                {"problem": problem.name, "best": best, "value": result.value, "sha256": digest}
            )
    return {
        "about": "python -m tests.golden.regenerate writes this file; see there when to",
        "generations": GENERATIONS,
        "seed": 1,
        "runs": runs,
    }


def golden_runs(preset: str) -> dict[str, Any]:
    """All golden runs of one preset."""
    runs = [golden_run(preset, disclosure, "value") for disclosure in DISCLOSURES]
    runs.append(golden_run(preset, "order", "improvement"))
    runs.append(golden_run(preset, "top:15", "nothing"))
    return {
        "about": "python -m tests.golden.regenerate writes this file; see there when to",
        "preset": preset,
        "problem": problem_of(preset).name,
        "generations": GENERATIONS,
        "seed": 1,
        "runs": runs,
    }
