"""Objectives evaluated in this process: public ones, and confidential ones without secrecy.

`SimulatedObjective` is the Privacy Engine's clear twin: it knows the weights, computes the fitness,
and lets through what the disclosure reveals. Real nodes give the same bytes; the paper's
studies run on this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import BestMode, Estimator, Exact, linear
from tacit.evaluators.objective_evaluator import ObjectiveEvaluation
from tacit.problems import Problem


class ClearObjective:
    """A public objective: the platform computes its exact fitness itself."""

    def __init__(self, problem: Problem, objective: int, /) -> None:
        self._problem, self._objective = problem, objective
        self.best_so_far: int | None = None

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


class SimulatedObjective(ClearObjective):
    """One confidential objective, as its disclosure shows it.

    >>> from tacit.disclosure import parse_disclosure
    >>> from tacit.problems import Assignment, Objective
    >>> pay = Objective("pay", np.array([[1, 9], [8, 3]]), disclosure=parse_disclosure("top:1"))
    >>> problem = Assignment(name="p", rows=2, columns=2, objectives=(pay,))
    >>> seen = SimulatedObjective(problem, 0).evaluate(
    ...     np.array([[0, 1], [1, 0]], dtype=np.int32), until=None)
    >>> seen.disclosed, seen.best, seen.estimates
    (array([False,  True]), 17, array([-17.,  17.]))
    """

    def __init__(
        self, problem: Problem, objective: int, /, *, estimator: Estimator = linear
    ) -> None:
        super().__init__(problem, objective)
        chosen = problem.objectives[objective]
        self._disclosure, self._best_mode = chosen.disclosure, chosen.best_mode
        self._estimator = estimator

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        """What the disclosure reveals, and the estimates made from it."""
        fitness = super().evaluate(candidates, until=until).disclosed
        disclosed = self._disclosure.disclose(fitness)
        best = int(fitness.max())
        shown: int | bool | None = best
        if not isinstance(self._disclosure, Exact):
            shown = self._best_mode.revealed(best, best_so_far=self.best_so_far)
        if self.best_so_far is None or best > self.best_so_far:
            self.best_so_far = best
        known_best = shown if self._best_mode is BestMode.VALUE else None
        estimates = self._disclosure.estimates(
            disclosed, best=known_best, estimator=self._estimator
        )
        return ObjectiveEvaluation(estimates, disclosed, shown)
