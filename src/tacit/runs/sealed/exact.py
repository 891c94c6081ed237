"""The exact solver in the clear: the nodes' twin, and how many phases a course has."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.disclosure import BestMode
from tacit.engine.agreement import ForestCourse, forest_course
from tacit.mpc.forest import ClearForest, finish_in_the_clear
from tacit.problems import Problem
from tacit.runs.sealed.searching import SealedPlan
from tacit.search import ExactParameters, weighted_values
from tacit.search.moves import public_shape


def course_for(
    problem: Problem,
    parameters: ExactParameters,
    weighting: Sequence[int],
    /,
    *,
    seed: int = 0,
    stream: int = 0,
) -> ForestCourse:
    """The public course of an exact solution."""
    shape = public_shape(problem, weighting)
    return forest_course(problem, shape, parameters, seed=seed, stream=stream)


class SimulatedExact:
    """The same phases with the weights that are all here."""

    opened = False

    def __init__(
        self,
        problem: Problem,
        parameters: ExactParameters,
        weighting: Sequence[int],
        /,
        *,
        seed: int,
        stream: int,
    ) -> None:
        self.seed, self.generation = seed, 0
        self._course = course_for(problem, parameters, weighting, seed=seed, stream=stream)
        self._costs = self._course.clear_costs(weighted_values(problem, weighting))
        self._forest = ClearForest(self._costs, self._course.shape, self._course.coins)
        self._state = self._forest.start()
        self._shows_value = problem.objectives[0].best_mode is BestMode.VALUE

    def advance(
        self,
        count: int,
        horizon: int,  # noqa: ARG002 - the phases are fixed
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> list[bool]:
        """Some phases; there is nothing to tell."""
        phases = self._course.phases[self.generation : self.generation + count]
        self._state = self._forest.advance(self._state, phases)
        self.generation += count
        return []

    def open(self, *, until: float | None) -> SealedPlan:  # noqa: ARG002 - never waits
        """The completed plan, and what is proved of it."""
        course = self._course
        answer = finish_in_the_clear(self._state, self._costs, course.layout, course.shape)
        outcome = answer.outcome.name.lower()
        if outcome in ("none", "infeasible"):
            return SealedPlan([], None, self.generation, outcome)
        value = course.value_of(answer.total) if self._shows_value else None
        return SealedPlan(answer.plan.tolist(), value, self.generation, outcome)
