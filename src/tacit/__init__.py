"""tacit finds a near-optimal plan before the deadline without anybody seeing anybody's costs.

>>> import tacit
>>> problem = tacit.generate_assignment(1, rows=30)
>>> result = tacit.solve(problem, disclose="top:15", generations=100, seed=1, engine="simulated")
>>> result.percent_of_optimum > 85
True

The names below are the public ones; what they need is imported when one of them is first used, so
that a node, which never searches, starts light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.disclosure import parse_disclosure
    from tacit.errors import TacitError
    from tacit.problems import (
        Assignment,
        Objective,
        Participant,
        Problem,
        Tour,
        generate_assignment,
        generate_tour,
        load_problem,
        save_problem,
        shipped_problem,
    )
    from tacit.runs import Result, load_result, solve
    from tacit.search import SearchParameters

__version__ = "0.1.0"

_HOME = {
    "parse_disclosure": "tacit.disclosure",
    "TacitError": "tacit.errors",
    **dict.fromkeys(
        (
            "Assignment",
            "Objective",
            "Participant",
            "Problem",
            "Tour",
            "generate_assignment",
            "generate_tour",
            "load_problem",
            "save_problem",
            "shipped_problem",
        ),
        "tacit.problems",
    ),
    **dict.fromkeys(("Result", "load_result", "solve"), "tacit.runs"),
    "SearchParameters": "tacit.search",
}

__all__ = [
    "Assignment",
    "Objective",
    "Participant",
    "Problem",
    "Result",
    "SearchParameters",
    "TacitError",
    "Tour",
    "generate_assignment",
    "generate_tour",
    "load_problem",
    "load_result",
    "parse_disclosure",
    "save_problem",
    "shipped_problem",
    "solve",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")
