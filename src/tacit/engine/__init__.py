"""The Privacy Engine: what evaluates candidate plans and tells only what was agreed.

The names below are imported when one of them is first used: a node starts without the problems
and their compiled sums.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.engine.clear import ClearObjective
    from tacit.engine.objective_evaluator import (
        ObjectiveEvaluation,
        ObjectiveEvaluator,
        SideBySide,
    )
    from tacit.engine.simulated import SimulatedObjective

_HOME = {
    "ClearObjective": "tacit.engine.clear",
    "ObjectiveEvaluation": "tacit.engine.objective_evaluator",
    "ObjectiveEvaluator": "tacit.engine.objective_evaluator",
    "SideBySide": "tacit.engine.objective_evaluator",
    "SimulatedObjective": "tacit.engine.simulated",
}

__all__ = [
    "ClearObjective",
    "ObjectiveEvaluation",
    "ObjectiveEvaluator",
    "SideBySide",
    "SimulatedObjective",
]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'tacit.engine' has no attribute {name!r}")
