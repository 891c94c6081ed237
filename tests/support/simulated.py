"""`solve` on simulated nodes: the same bytes without three processes for every run.

tests/engine/on_nodes/test_identical.py holds that they are the same.
"""

from __future__ import annotations

from typing import Any

from tacit import runs
from tacit.problems import Problem


def solve(problem: Problem, /, **options: Any) -> runs.Result:
    """Solve on simulated nodes, unless the options name an engine."""
    return runs.solve(problem, **{"engine": "simulated", **options})
