"""Evaluation in the clear, for public objectives: the Optimizer does the sums itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.engine.evaluators.objective_evaluator import ObjectiveEvaluation
from tacit.problems import Problem


class ClearObjective:
    """Exact fitness, openly computed."""

    best_so_far: int | None = None

    def __init__(self, problem: Problem, objective: int, /) -> None:
        self._problem, self._objective = problem, objective

    def evaluate(
        self,
        candidates: NDArray[np.int32],
        /,
        *,
        until: float | None,  # noqa: ARG002 - takes microseconds and never waits
    ) -> ObjectiveEvaluation:
        """The fitness itself."""
        fitness = self._problem.fitness(self._objective, candidates)
        return ObjectiveEvaluation(fitness.astype(np.float64), fitness, int(fitness.max()))

    def reveal_best(
        self,
        candidates: NDArray[np.int32],
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> int:
        """The truly best of these plans; the first of equals."""
        return int(self._problem.fitness(self._objective, candidates).argmax())
