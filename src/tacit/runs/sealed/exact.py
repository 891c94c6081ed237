"""The exact solver as its driver sees it, simulated, and the course that it takes."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.disclosure import BestMode
from tacit.engine.agreement import ForestCourse, forest_course
from tacit.engine.derived import ClearExact
from tacit.problems import Problem
from tacit.runs.sealed.searching import SealedPlan
from tacit.search import weighted_values
from tacit.search.moves import ExactParameters, public_shape


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


def phases_of(problem: Problem, parameters: ExactParameters, weighting: Sequence[int], /) -> int:
    """How many phases there are: with scaling, as many as the range of the costs asks for."""
    return len(course_for(problem, parameters, weighting).phases)


class SimulatedExact:
    """The same phases as on nodes, with the weights that are all here."""

    opened = False
    turn = None

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
        self.seed = seed
        course = course_for(problem, parameters, weighting, seed=seed, stream=stream)
        self._twin = ClearExact(course, weighted_values(problem, weighting))
        self._shows_value = problem.objectives[0].best_mode is BestMode.VALUE

    @property
    def generation(self) -> int:
        """How many phases are done."""
        return self._twin.phase

    def advance(
        self,
        count: int,
        horizon: int,  # noqa: ARG002 - the phases are fixed
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
        turn: int | None = None,  # noqa: ARG002 - there is no search before
    ) -> list[bool]:
        """Some phases; there is nothing to tell."""
        self._twin.advance(count)
        return []

    def open(self, *, until: float | None) -> SealedPlan:  # noqa: ARG002 - never waits
        """The completed plan, and what is proved of it."""
        plan, value, outcome = self._twin.answer()
        return SealedPlan(plan, value if self._shows_value else None, self.generation, outcome)
