"""Warming up touches every kernel that the real search will call."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROBE = """
import json, os, sys
from dataclasses import replace
from numba.core.dispatcher import Dispatcher
from tacit.problems import generate_assignment, generate_tour
from tacit.runs import EngineChoice, Limits, solve
from tacit.search.evolution import warm_up

def signatures():
    import gc
    return {f"{d.py_func.__module__}.{d.py_func.__name__}": len(d.signatures)
            for d in gc.get_objects() if isinstance(d, Dispatcher)}

def measuring(problem, parameters):
    warm_up(problem, parameters)
    before.update(signatures())

sys.modules["tacit.runs.evaluating_local"].warm_up = measuring  # the name is also a function's
before = {}
wide = generate_assignment(1, rows=5, columns=9)
for problem, engine in (
    (wide, "nodes"),
    (replace(wide, optimum=4000), "simulated"),
    (generate_tour(1, cities=9), "simulated"),
    (generate_assignment(1, rows=9, objectives=2), "simulated"),
):
    # In a process of its own, in which no other search has compiled anything.
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    choice = EngineChoice(engine=engine)
    solve(problem, disclose="order", limits=Limits(generations=30), engine=choice)
    assert before, "nothing was warmed up"
    late = {name: count for name, count in signatures().items() if count > before.get(name, 0)}
    print(json.dumps(late), flush=True)
    os._exit(0)
"""


@pytest.mark.processes
def test_nothing_is_compiled_once_the_clock_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=300
    )
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{}] * 4, done.stderr
