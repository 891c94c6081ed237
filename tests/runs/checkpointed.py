"""Runs of each kind that are stopped and resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tacit.disclosure import linear
from tacit.evaluators import SeparateObjectives
from tacit.problems import Problem, generate_assignment, generate_tour
from tacit.runs import EvaluatingDriver, Limits, simulated_evaluator, with_disclosures
from tacit.runs.checkpoint import load_checkpoint
from tacit.search import SearchParameters
from tests.runs.flat import solve_with

LAST = 12
SMALL = SearchParameters(population=20, elites=3, tournament=3)
TWO = SearchParameters(
    algorithm="nsga2", population=20, elites=0, reevaluate_parents=True, mutation="scramble"
)
KINDS: dict[str, tuple[Problem, dict[str, Any]]] = {
    "none": (generate_assignment(7, rows=12), {"parameters": SMALL, "disclose": "none"}),
    "improvement": (
        generate_assignment(7, rows=9, columns=12),
        {"parameters": SMALL, "disclose": "order", "best": "improvement"},
    ),
    "tour": (
        generate_tour(7, cities=12),
        {
            "parameters": SMALL.with_changes(crossover="edge", mutation="inversion"),
            "disclose": "quantiles:4",
        },
    ),
    "two objectives": (
        generate_assignment(7, rows=12, objectives=2),
        {"parameters": TWO, "disclose": {"weight 1": "top:5", "weight 2": "none"}},
    ),
    "pareto": (
        generate_assignment(7, rows=12, objectives=2),
        {"parameters": TWO, "disclose": "pareto:quantiles:5"},
    ),
}


def without_timing(problem: Problem, **options: Any) -> bytes:
    return solve_with(problem, seed=3, **options).to_json(timing=False)


def fresh_run(
    kind: str,
    wrap: Callable[[SeparateObjectives], SeparateObjectives] = lambda inner: inner,
    **changes: Any,
) -> EvaluatingDriver:
    """A run as `solve` makes it, with some of its parts changed."""
    problem, options = KINDS[kind]
    parts: dict[str, Any] = {
        "problem": with_disclosures(problem, options.get("disclose"), options.get("best")),
        "parameters": options["parameters"],
        "seed": 3,
        **changes,
    }
    evaluator = wrap(simulated_evaluator(parts["problem"], linear))
    return EvaluatingDriver(
        parts["problem"],
        parts["parameters"],
        evaluator,
        seed=parts["seed"],
        limits=Limits(generations=LAST),
    )


def resume_from(file: Path, run: EvaluatingDriver) -> None:
    """Put a fresh run where a saved one stood."""
    run.resume(*load_checkpoint(file, run.problem, run.parameters, seed=run.seed))
