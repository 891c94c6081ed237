"""`solve` with limits and settings given one by one, as tables of test cases have them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tacit.problems import Problem
from tacit.runs import Limits, Result, SolveSettings
from tests.support.simulated import solve


def solve_with(problem: Problem, **options: Any) -> Result:
    """Solve a problem; fields of `Limits` and `SolveSettings` are given by name."""

    def taken(kind: type) -> dict[str, Any]:
        names = [each.name for each in fields(kind) if each.name in options]
        return {name: options.pop(name) for name in names}

    deadline = options.pop("deadline", None)
    return solve(
        problem,
        limits=Limits(**taken(Limits)),
        settings=SolveSettings(**taken(SolveSettings)),
        deadline=deadline,
        **options,
    )
