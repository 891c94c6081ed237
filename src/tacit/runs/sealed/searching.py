"""A sealed search as its driver sees it: on nodes, or simulated with all that they would hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tacit.disclosure import BestMode
from tacit.problems import Problem
from tacit.search import ClearSealedSearch, weighted_values
from tacit.search.moves import Schedule, TourParameters, public_shape

if TYPE_CHECKING:
    from tacit.engine.agreement import AssignmentCourse

_START_STREAM = 1 << 32


class OpenedPlan(Protocol):
    """What a sealed search opens in the end."""

    @property
    def plan(self) -> list[int]:
        """The best plan; empty where it was opened to its owners alone."""
        ...

    @property
    def value(self) -> int | None:
        """Its value under the search's weighting, if that is disclosed."""
        ...

    @property
    def generation(self) -> int:
        """After so many steps."""
        ...

    @property
    def outcome(self) -> str | None:
        """What is proved of it, if it is of an assignment."""
        ...

    @property
    def gap(self) -> int | None:
        """By at most how much it is worse than the optimum, if that is disclosed."""
        ...


@dataclass(frozen=True)
class SealedPlan:
    """A plan that was opened in the clear."""

    plan: list[int]
    value: int | None
    generation: int
    outcome: str | None = None
    gap: int | None = None


class SealedSearching(Protocol):
    """A sealed search, on nodes or in the clear; or several that go on together."""

    @property
    def searches(self) -> Sequence[int]:
        """Their numbers."""
        ...

    @property
    def generation(self) -> int:
        """How many steps are done."""
        ...

    @property
    def opened(self) -> bool:
        """Whether its plan was opened before, so that nothing but that plan follows."""
        ...

    @property
    def finished(self) -> bool:
        """Whether it was opened that all plans are proved, where that was agreed."""
        ...

    @property
    def seed(self) -> int:
        """What the public schedule follows from."""
        ...

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        """Go on by so many steps, of as many as the horizon says."""
        ...

    def open(self, search: int | None = None, /, *, until: float | None) -> OpenedPlan:
        """Open the best plan: once. Of several searches, that of one of them."""
        ...


class SimulatedTour:
    """The nodes' clear twin of a tour: the same search, of weights and a start that are here."""

    opened = finished = False

    def __init__(
        self,
        problem: Problem,
        parameters: TourParameters,
        weighting: Sequence[int],
        /,
        *,
        seed: int,
        stream: int,
    ) -> None:
        shape = public_shape(problem, weighting)
        self.seed, self.searches = seed, (stream,)
        self._shows_value = problem.objectives[0].best_mode is BestMode.VALUE
        schedule = Schedule(shape, parameters, seed=seed, stream=stream)
        words = np.random.PCG64([seed, stream, _START_STREAM]).random_raw(
            parameters.parents * shape.columns
        )
        start = np.argsort(words.reshape(parameters.parents, -1), axis=1, kind="stable")
        self.twin = ClearSealedSearch(weighted_values(problem, weighting), schedule, start)
        """The search in the clear, for studies, which may look at everything."""

    @property
    def generation(self) -> int:
        """How many generations are done."""
        return self.twin.generation

    def advance(
        self,
        count: int,
        horizon: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> None:
        """Go on by so many generations."""
        self.twin.advance(count, horizon=horizon)

    def open(
        self,
        search: int | None = None,  # noqa: ARG002 - there is one
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        """Open the best plan."""
        value = self.twin.best_value if self._shows_value else None
        return SealedPlan(self.twin.plan().tolist(), value, self.generation)


class SimulatedAssignment:
    """The nodes' clear twin of assignments that are solved together."""

    opened = False

    def __init__(
        self, problem: Problem, course: AssignmentCourse, weightings: Sequence[Sequence[int]], /
    ) -> None:
        from tacit.engine.derived import ClearRun

        self.seed, self.searches = course.seed, course.searches
        self.twins = {
            search: ClearRun(course, search, weighted_values(problem, weightings[search]))
            for search in course.searches
        }
        """By weighting, for studies, which may look at everything."""
        self._shows_value = problem.objectives[0].best_mode is BestMode.VALUE
        self._checkpoints, self.finished = course.checkpoints, False

    @property
    def generation(self) -> int:
        """How many steps are done."""
        return self.twins[self.searches[0]].step

    def advance(
        self,
        count: int,
        horizon: int,  # noqa: ARG002 - the steps do not depend on it
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> None:
        """Go on by so many steps; after those that were agreed, `finished` is opened."""
        ends = [step - self.generation for step in self._checkpoints if step > self.generation]
        count = min([count, *ends])
        for twin in self.twins.values():
            twin.advance(count)
        if self.generation in self._checkpoints:
            self.finished = all(twin.is_proved for twin in self.twins.values())

    def open(
        self,
        search: int | None = None,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        """Open the plan of a weighting, and what is proved of it."""
        from tacit.engine.records import OUTCOMES

        twin = self.twins[self.searches[0] if search is None else search]
        value = twin.value if self._shows_value else None
        return SealedPlan(twin.plan(), value, twin.step, OUTCOMES[twin.is_proved], twin.gap)
