"""The Privacy Engine: what evaluates candidate plans and tells only what was agreed.

The names below are imported when one of them is first used: a node starts without the problems
and their compiled sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit.lazy import lazily

if TYPE_CHECKING:
    from tacit.engine.evaluators.clear import ClearObjective as ClearObjective
    from tacit.engine.evaluators.objective_evaluator import (
        ObjectiveEvaluation as ObjectiveEvaluation,
        ObjectiveEvaluator as ObjectiveEvaluator,
        SideBySide as SideBySide,
    )
    from tacit.engine.evaluators.simulated import SimulatedObjective as SimulatedObjective
else:
    __getattr__ = lazily(__name__)
