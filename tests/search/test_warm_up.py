"""Warming up touches every kernel that the real search will call."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROBE = """
import json, sys
from dataclasses import replace
from tacit.problems import generate_assignment, generate_tour
from tacit.runs import Limits, solve
from tacit.search.warming import warm_up

def signatures():
    import gc
    from numba.core.dispatcher import Dispatcher
    return {f"{d.py_func.__module__}.{d.py_func.__name__}": len(d.signatures)
            for d in gc.get_objects() if isinstance(d, Dispatcher)}

kind = sys.argv[1]
problem = {
    "wide": lambda: generate_assignment(1, rows=5, columns=9),
    "tour": lambda: generate_tour(1, cities=9),
    "known": lambda: replace(generate_assignment(1, rows=5, columns=9), optimum=4000),
    "two": lambda: generate_assignment(1, rows=9, objectives=2),
}[kind]()
before = {}

def measuring(problem, parameters):
    warm_up(problem, parameters)
    before.update(signatures())

sys.modules["tacit.runs.evaluating.local"].warm_up = measuring  # the name is also a function's
solve(problem, disclose="order", limits=Limits(generations=30))
print(json.dumps({name: count for name, count in signatures().items()
                  if count > before.get(name, 0)}))
"""


@pytest.mark.parametrize("kind", ["wide", "known", "tour", "two"])
@pytest.mark.processes
def test_nothing_is_compiled_once_the_clock_runs(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, kind], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout) == {}
