"""`solve` on simulated nodes: the same bytes without three processes for every run.

tests/on_nodes/test_identical.py holds that they are the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit import runs
from tacit.disclosure import Exact, Unsaid
from tacit.problems import Problem


def saying_none(problem: Problem, /) -> Problem:
    """The problem with everything disclosed where it says nothing, for the genetic search."""
    said = [
        replace(each, disclosure=Exact()) if isinstance(each.disclosure, Unsaid) else each
        for each in problem.objectives
    ]
    return replace(problem, objectives=tuple(said))


def solve(problem: Problem, /, **options: Any) -> runs.Result:
    """Solve on simulated nodes, unless the options name an engine."""
    return runs.solve(saying_none(problem), **{"engine": "simulated", **options})
