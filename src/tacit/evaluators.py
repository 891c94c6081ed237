"""Evaluate the objectives of a problem as their disclosures show them.

`ClearObjective` and `SimulatedObjective` compute in this process, `as_evaluation` reads what nodes
disclosed; both give the same bytes. Each objective has an evaluator of its own, since each has its
own owners and its own disclosure. The search sees them as one: `SeparateObjectives`, or
`ParetoObjectives` where they are evaluated together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import (
    BestMode,
    Estimator,
    Exact,
    check_score_fits,
    linear,
    nondominated,
    pareto_score,
)
from tacit.errors import ParameterError
from tacit.problems import Evaluation, Objective, Problem


@dataclass(frozen=True, eq=False)
class ObjectiveEvaluation:
    """What one objective gives back for one set of candidates."""

    estimates: NDArray[np.float64]
    disclosed: NDArray[Any]
    best: int | bool | None


class ObjectiveEvaluator(Protocol):
    """Evaluates one objective. `best_so_far` is what a resumed run has to restore."""

    best_so_far: int | None

    def evaluate(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> ObjectiveEvaluation:
        """Evaluate plans, one per row, and give up at the instant `until`."""
        ...

    def begin(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> Callable[[], ObjectiveEvaluation]:
        """Start an evaluation where nodes make it; call what is returned for the result."""
        return lambda: self.evaluate(candidates, until=until)

    def reveal_best(self, candidates: NDArray[np.int32], /, *, until: float | None) -> int:
        """Reveal which of these evaluated plans is truly best; the first of equals."""
        ...


class SeparateObjectives:
    """Combines one evaluator per objective."""

    def __init__(self, objectives: Sequence[ObjectiveEvaluator], /) -> None:
        self.objectives = objectives

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        # All are begun before any is waited for, since nodes compute them at the same time.
        waits = [each.begin(candidates, until=until) for each in self.objectives]
        evaluations = [wait() for wait in waits]
        return Evaluation(
            estimates=np.stack([each.estimates for each in evaluations], axis=1),
            disclosed=tuple(each.disclosed for each in evaluations),
            best=tuple(each.best for each in evaluations),
        )

    @property
    def notes(self) -> list[str]:
        """The notes of the nodes for the reader of the result."""
        said = (note for each in self.objectives for note in getattr(each, "notes", ()))
        return list(dict.fromkeys(said))

    @property
    def best_so_far(self) -> tuple[int | None, ...]:
        """The state that each objective needs to resume."""
        return tuple(objective.best_so_far for objective in self.objectives)

    def restore(self, best_so_far: tuple[int | None, ...], /) -> None:
        for objective, best in zip(self.objectives, best_so_far, strict=True):
            objective.best_so_far = best


class ClearObjective(ObjectiveEvaluator):
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
        fitness = super().evaluate(candidates, until=until).disclosed
        disclosed = self._disclosure.disclose(fitness)
        best = int(fitness.max())
        shown: int | bool | None = best
        # Under `none` the best value is disclosed anyway, whatever the best mode says.
        if not isinstance(self._disclosure, Exact):
            shown = self._best_mode.revealed(best, best_so_far=self.best_so_far)
        # After it was disclosed: an improvement is one over all evaluations before this one.
        if self.best_so_far is None or best > self.best_so_far:
            self.best_so_far = best
        # From what was disclosed alone, so that the simulation searches as a platform with nodes
        # does.
        known_best = shown if self._best_mode is BestMode.VALUE else None
        estimates = self._disclosure.estimates(
            disclosed, best=known_best, estimator=self._estimator
        )
        return ObjectiveEvaluation(estimates, disclosed, shown)


def as_evaluation(
    labels: NDArray[np.int64],
    best: int | bool | None,
    objective: Objective,
    estimator: Estimator,
    /,
) -> ObjectiveEvaluation:
    """Turn disclosed labels into an evaluation; `best` is a value, a bit or nothing."""
    # Nodes send numbers for all methods; the search takes flags where the simulation gives them.
    disclosed: NDArray[Any] = labels
    if objective.disclosure.discloses_flags:
        disclosed = labels.astype(np.bool_)
    known = None
    if objective.best_mode is BestMode.VALUE and best is not None:
        known = int(best)
    estimates = objective.disclosure.estimates(disclosed, best=known, estimator=estimator)
    return ObjectiveEvaluation(estimates, disclosed, best)


# Objectives that are evaluated together, of which a Pareto score is disclosed.


@dataclass(frozen=True)
class RevealedFront:
    """What the final reveal disclosed of the last set."""

    nondominated: list[int]
    """Which of its plans no other one dominates; of duplicates the first."""
    values: list[list[int]] | None
    """Of each of them its fitness in every objective, if that was agreed."""


class ParetoEvaluator(ObjectiveEvaluator, Protocol):
    """Evaluates objectives together, and reveals at the end which plans are non-dominated."""

    def reveal_front(
        self, candidates: NDArray[np.int32], /, *, until: float | None
    ) -> RevealedFront:
        """Reveal which of these evaluated plans are non-dominated."""
        ...


class SimulatedPareto(ParetoEvaluator):
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
        """`with_values`: the final reveal discloses the values of non-dominated plans too."""
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
        """Reveal which of these plans are non-dominated, and their values if that was agreed."""
        fitness = self._fitness(candidates)
        first = nondominated(fitness)
        values = fitness[:, first].T.tolist() if self._with_values else None
        return RevealedFront(first.tolist(), values)

    def _fitness(self, candidates: NDArray[np.int32]) -> NDArray[np.int64]:
        """A line per objective."""
        problem = self._problem
        return np.stack([problem.fitness(k, candidates) for k in range(len(problem.objectives))])


class ParetoObjectives(SeparateObjectives):
    """One evaluator of all objectives: each has the same estimates and the same groups."""

    def __init__(self, evaluator: ParetoEvaluator, count: int, /) -> None:
        super().__init__((evaluator,))
        self._count, self.reveal_front = count, evaluator.reveal_front

    def evaluate(self, candidates: NDArray[np.int32], /, *, until: float | None) -> Evaluation:
        score = super().evaluate(candidates, until=until)
        return Evaluation(
            # The search expects a column per objective, and only all together have an estimate.
            estimates=np.repeat(score.estimates, self._count, axis=1),
            disclosed=score.disclosed * self._count,
            best=score.best * self._count,
        )
