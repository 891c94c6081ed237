"""A run is a function of its seed: compiled or not, with any number of threads, in any process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.problems import Assignment
from tacit.search import SearchParameters
from tests.runs.flat import solve_with
from tests.runs.small_runs import all_small_runs

RUNS = """
import json, sys
{prelude}
from tests.runs.small_runs import all_small_runs
print(json.dumps(all_small_runs()))
"""


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
    assert len(here) == 6 * 4 * 4


@pytest.mark.parametrize(
    "environment",
    [
        {"NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": "1"},
        # Here there are as many threads as cores.
        {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "2"},
    ],
    ids=["interpreted", "one thread"],
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
        solve_with(small_assignment, parameters=small_search, generations=3, seed=seed).to_json(
            timing=False
        )
        for seed in range(5)
    }
    assert len(results) == 5


@pytest.mark.parametrize("disclosure", ["order", "quantiles:4", "buckets:4", "top:5", "above:80"])
def test_paired_seeds_start_from_the_same_population_under_any_disclosure(
    small_assignment: Assignment, small_search: SearchParameters, disclosure: str
) -> None:
    hidden = solve_with(
        small_assignment, disclose=disclosure, parameters=small_search, generations=0, seed=4
    )
    open_to_all = solve_with(small_assignment, parameters=small_search, generations=0, seed=4)
    assert hidden.history.disclosed_best == open_to_all.history.disclosed_best
    assert open_to_all.plan in hidden.best_known.plans
