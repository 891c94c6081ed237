"""Objectives that are evaluated together, of which a Pareto score is disclosed.

`SimulatedPareto` is the clear twin of what nodes compute on shares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import check_score_fits, pareto_score
from tacit.engine.evaluators.objective_evaluator import (
    ObjectiveEvaluation,
    ObjectiveEvaluator,
    SideBySide,
)
from tacit.errors import ParameterError
from tacit.problems import Evaluation, Problem


class SimulatedPareto:
    """All objectives of a problem, as their Pareto score is disclosed.

    >>> from tacit.disclosure import BestMode, parse_disclosure
    >>> from tacit.problems import Assignment, Objective
    >>> shown = {"disclosure": parse_disclosure("pareto:order"), "best_mode": BestMode.NOTHING}
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]), **shown)
    >>> joy = Objective("joy", np.array([[1, 2], [2, 1]]), **shown)
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay, joy))
    >>> plans = np.array([[0, 1], [1, 0]], dtype=np.int32)
    >>> SimulatedPareto(problem).evaluate(plans, until=None).disclosed
    array([1, 0])
    """

    def __init__(self, problem: Problem, /) -> None:
        self._problem = problem
        self.best_so_far: int | None = None
        self._spans = [problem.terms * each.weight_bound for each in problem.objectives]

    def evaluate(
        self,
        candidates: NDArray[np.int32],
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> ObjectiveEvaluation:
        """The disclosed groups, and estimates that are their numbers, negated."""
        check_score_fits(self._spans, len(candidates))
        problem = self._problem
        fitness = [problem.fitness(k, candidates) for k in range(len(problem.objectives))]
        score = pareto_score(np.stack(fitness), spans=self._spans)
        disclosure = problem.objectives[0].disclosure
        disclosed = disclosure.disclose(score)
        return ObjectiveEvaluation(disclosure.estimates(disclosed, best=None), disclosed, None)

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:  # noqa: ARG002
        """Refused: of several objectives none is truly best."""
        raise ParameterError("of several objectives there is no truly best plan; do not ask for it")


class Together(SideBySide):
    """One evaluator of all objectives: each has the same estimates and the same groups."""

    def __init__(self, evaluator: ObjectiveEvaluator, objectives: int, /) -> None:
        super().__init__((evaluator,))
        self._count = objectives

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        """Evaluate all objectives at once."""
        seen = super().evaluate(candidates, until=until)
        return Evaluation(
            estimates=np.repeat(seen.estimates, self._count, axis=1),
            disclosed=seen.disclosed * self._count,
            best=seen.best * self._count,
        )
