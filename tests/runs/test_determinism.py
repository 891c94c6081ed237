"""A run is a function of its seed: compiled or not, with any number of threads, in any process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tacit.problems import Assignment, Objective, Problem, generate_assignment, generate_tour
from tacit.runs import solve
from tacit.search import SearchParameters
from tacit.search.operators.crossover import crossovers
from tacit.search.operators.mutation import mutations

RUNS = """
import json, sys
{prelude}
from tests.runs.test_determinism import all_small_runs
print(json.dumps(all_small_runs()))
"""


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
        name: solve(
            problem,
            parameters=parameters,
            disclose=disclosure,
            generations=6,
            seed=i,
            engine="simulated",
        )
        .to_json(timing=False)
        .decode()
        for i, (name, problem, parameters, disclosure) in enumerate(small_runs())
    }


def runs_elsewhere(*, prelude: str = "", **environment: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", RUNS.replace("{prelude}", prelude)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return all_small_runs()


def test_all_operators_and_kinds_are_covered(here: dict[str, str]) -> None:
    assert len(here) == 5 * 4 * 4


@pytest.mark.parametrize(
    "environment",
    [
        {"NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": "1"},
        {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "2"},
        {"NUMBA_NUM_THREADS": "2", "OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "3"},
    ],
    ids=["interpreted", "one thread", "two threads"],
)
@pytest.mark.processes
def test_results_are_the_same_bytes_in_another_process(
    here: dict[str, str], environment: dict[str, str]
) -> None:
    assert runs_elsewhere(**environment) == here


@pytest.mark.processes
def test_results_are_the_same_bytes_where_numba_is_not_installed(here: dict[str, str]) -> None:
    assert runs_elsewhere(prelude="sys.modules['numba'] = None") == here


def test_other_seeds_give_other_results(
    small_assignment: Assignment, small_search: SearchParameters
) -> None:
    results = {
        solve(small_assignment, parameters=small_search, generations=3, seed=seed).to_json(
            timing=False
        )
        for seed in range(5)
    }
    assert len(results) == 5


@pytest.mark.parametrize("disclosure", ["order", "quantiles:4", "buckets:4", "top:5", "above:80"])
def test_paired_seeds_start_from_the_same_population_under_any_disclosure(
    small_assignment: Assignment, small_search: SearchParameters, disclosure: str
) -> None:
    hidden = solve(
        small_assignment, disclose=disclosure, parameters=small_search, generations=0, seed=4
    )
    open_to_all = solve(small_assignment, parameters=small_search, generations=0, seed=4)
    assert hidden.history.told_best == open_to_all.history.told_best
    assert open_to_all.plan in hidden.best_known.plans
