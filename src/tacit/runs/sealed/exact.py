"""The exact solver as its driver sees it, simulated, and the courses that it takes."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.disclosure import BestMode
from tacit.engine.agreement import ForestCourse, forest_courses
from tacit.engine.derived import ClearExact
from tacit.problems import Problem
from tacit.runs.sealed.searching import SealedPlan
from tacit.search import weighted_values
from tacit.search.moves import ExactParameters, public_shape


def courses_for(
    problem: Problem,
    parameters: ExactParameters,
    weightings: Sequence[Sequence[int]],
    /,
    *,
    seed: int = 0,
) -> list[ForestCourse]:
    """The public courses of exact solutions, group by group."""
    shapes = [public_shape(problem, each) for each in weightings]
    return forest_courses(problem, shapes, parameters, seed=seed)


def phases_of(
    problem: Problem, parameters: ExactParameters, weightings: Sequence[Sequence[int]], /
) -> int:
    """How many phases there are: with scaling, as many as the range of the costs asks for."""
    return max(len(course.phases) for course in courses_for(problem, parameters, weightings))


class SimulatedExact:
    """The same phases of a group as on nodes, with the weights that are all here."""

    opened = False
    turn = None

    def __init__(
        self, problem: Problem, course: ForestCourse, weightings: Sequence[Sequence[int]], /
    ) -> None:
        self.seed, self.searches = course.seed, course.searches
        self._twins = {
            search: ClearExact(course, search, weighted_values(problem, weightings[search]))
            for search in course.searches
        }
        self._shows_value = problem.objectives[0].best_mode is BestMode.VALUE
        self._checkpoints, self.finished = course.checkpoints, False

    @property
    def generation(self) -> int:
        """How many phases are done."""
        return self._twins[self.searches[0]].phase

    def advance(
        self,
        count: int,
        horizon: int,  # noqa: ARG002 - the phases are fixed
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
        turn: int | None = None,  # noqa: ARG002 - there is no search before
    ) -> list[bool]:
        """Some phases; after those that were agreed, `finished` is told."""
        ends = [phase - self.generation for phase in self._checkpoints if phase > self.generation]
        count = min([count, *ends])
        for twin in self._twins.values():
            twin.advance(count)
        if self.generation in self._checkpoints:
            self.finished = all(twin.is_proved for twin in self._twins.values())
        return []

    def open(
        self,
        search: int | None = None,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        """The completed plan of a weighting, and what is proved of it."""
        twin = self._twins[self.searches[0] if search is None else search]
        plan, value, outcome, gap = twin.answer()
        told = value if self._shows_value else None
        return SealedPlan(plan, told, self.generation, outcome, gap)
