"""Small runs of all kinds, and their results as bytes."""

from __future__ import annotations

from itertools import product

import numpy as np

from tacit.problems import Assignment, Objective, Problem, generate_assignment, generate_tour
from tacit.search import SearchParameters
from tacit.search.crossover import crossovers
from tacit.search.mutation import mutations
from tests.runs.flat import solve_with


def small_runs() -> list[tuple[str, Problem, SearchParameters, str]]:
    """Every operator with every other, both algorithms, all kinds of problems."""
    forbidden = np.add.outer(np.arange(12), 2 * np.arange(12)) % 3 == 0
    np.fill_diagonal(forbidden, False)
    weights = np.multiply.outer(np.arange(1, 13), np.arange(3, 15)) % 101
    problems: dict[str, Problem] = {
        "assignment": generate_assignment(7, rows=10, columns=12),
        "tour": generate_tour(7, cities=12),
        "forbidden": Assignment(
            name="masked",
            rows=12,
            columns=12,
            objectives=(Objective("pay", weights, sense="minimize"),),
            forbidden=forbidden,
        ),
        "two": generate_assignment(7, rows=12, objectives=2),
    }
    disclosures = ("none", "order", "quantiles:4", "buckets:4", "top:5", "above:80")
    runs = []
    for i, (crossover, mutation) in enumerate(product(sorted(crossovers()), sorted(mutations()))):
        for k, (kind, problem) in enumerate(problems.items()):
            parameters = SearchParameters(
                algorithm="nsga2" if kind == "two" else "genetic",
                population=20,
                elites=3,
                reevaluate_parents=kind == "two",
                tournament=4,
                crossover=crossover,
                crossover_percent=80,
                mutation=mutation,
                mutation_percent=70,
                estimator="exponential" if i % 2 else "linear",
            )
            disclosure = disclosures[(i + k) % len(disclosures)]
            name = f"{kind} {crossover} {mutation} {disclosure}"
            runs.append((name, problem, parameters, disclosure))
    return runs


def all_small_runs() -> dict[str, str]:
    return {
        name: solve_with(problem, parameters=parameters, disclose=disclosure, generations=6, seed=i)
        .to_json(timing=False)
        .decode()
        for i, (name, problem, parameters, disclosure) in enumerate(small_runs())
    }
