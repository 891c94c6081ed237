"""Objectives that are evaluated together, of which a Pareto score is disclosed.

`SimulatedPareto` is the clear twin of what nodes compute on shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import check_score_fits, nondominated, pareto_score
from tacit.errors import ParameterError
from tacit.evaluators.objective_evaluator import (
    ObjectiveEvaluation,
    ObjectiveEvaluator,
    SideBySide,
)
from tacit.problems import Evaluation, Problem


@dataclass(frozen=True)
class RevealedFront:
    """What the final reveal told of the last set."""

    nondominated: list[int]
    """Which of its plans no other one dominates; of duplicates the first."""
    values: list[list[int]] | None
    """Of each of them its fitness in every objective, if that was agreed."""


@runtime_checkable
class RevealsFront(Protocol):
    """Evaluates objectives together, and tells at the end which plans are non-dominated."""

    def reveal_front(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> RevealedFront:
        """Which of these plans, all evaluated before, are non-dominated."""
        ...


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

    def __init__(self, problem: Problem, /, *, with_values: bool = False) -> None:
        """`with_values`: the final reveal tells the values of non-dominated plans too."""
        self._problem, self._with_values = problem, with_values
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
        score = pareto_score(self._fitness(candidates), spans=self._spans)
        disclosure = self._problem.objectives[0].disclosure
        disclosed = disclosure.disclose(score)
        return ObjectiveEvaluation(disclosure.estimates(disclosed, best=None), disclosed, None)

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:  # noqa: ARG002
        """Refused: of several objectives none is truly best."""
        raise ParameterError("of several objectives there is no truly best plan; do not ask for it")

    def reveal_front(
        self,
        candidates: NDArray[np.int32],
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> RevealedFront:
        """Which of these plans are non-dominated, and their values if that was agreed."""
        fitness = self._fitness(candidates)
        first = nondominated(fitness)
        values = fitness[:, first].T.tolist() if self._with_values else None
        return RevealedFront(first.tolist(), values)

    def _fitness(self, candidates: NDArray[np.int32]) -> NDArray[np.int64]:
        """A line per objective."""
        problem = self._problem
        return np.stack([problem.fitness(k, candidates) for k in range(len(problem.objectives))])


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

    def reveal_front(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> RevealedFront:
        """Which of these plans are non-dominated: once, at the end, if that was agreed."""
        (evaluator,) = self.objectives
        if not isinstance(evaluator, RevealsFront):
            raise ParameterError("this engine reveals no front; do not ask for it")
        return evaluator.reveal_front(candidates, until=until)
