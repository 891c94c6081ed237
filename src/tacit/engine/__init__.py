"""The Privacy Engine: what evaluates candidate plans and tells only what was agreed."""

from tacit.engine.clear import ClearObjective
from tacit.engine.objective_evaluator import ObjectiveEvaluation, ObjectiveEvaluator, SideBySide
from tacit.engine.simulated import SimulatedObjective

__all__ = [
    "ClearObjective",
    "ObjectiveEvaluation",
    "ObjectiveEvaluator",
    "SideBySide",
    "SimulatedObjective",
]
