"""Evaluating objectives: in the clear, simulated, and decoding what nodes disclose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.evaluators.decode import as_evaluation
    from tacit.evaluators.objective_evaluator import (
        ObjectiveEvaluation,
        ObjectiveEvaluator,
        SideBySide,
    )
    from tacit.evaluators.pareto import RevealedFront, SimulatedPareto, Together
    from tacit.evaluators.simulated import ClearObjective, SimulatedObjective
else:
    __getattr__ = lazily(__name__)
