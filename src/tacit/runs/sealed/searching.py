"""A sealed search as its driver sees it: on nodes, or simulated with all that they would hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tacit.disclosure import BestMode
from tacit.errors import ParameterError
from tacit.problems import Problem
from tacit.search import ClearSealedSearch, value_table, weighted_values
from tacit.search.moves import Schedule, SealedParameters, public_shape

if TYPE_CHECKING:
    from tacit.engine.derived import ClearExact

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
        """After so many generations."""
        ...

    @property
    def outcome(self) -> str | None:
        """What is proved of it, where it is an exact solution or has a finish."""
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
        """How many generations are done."""
        ...

    @property
    def opened(self) -> bool:
        """Whether its plan was opened before, so that nothing but that plan follows."""
        ...

    @property
    def finished(self) -> bool:
        """Whether it was told that all plans are proved, where that was agreed."""
        ...

    @property
    def seed(self) -> int:
        """What the public schedule follows from."""
        ...

    @property
    def turn(self) -> int | None:
        """After which generation the finish began, if it has."""
        ...

    def advance(
        self, count: int, horizon: int, /, *, until: float | None, turn: int | None = None
    ) -> list[bool]:
        """Go on; tells whether each generation improved the best, if that was agreed.

        With a `turn` these are phases of the finish, which begins after that generation.
        """
        ...

    def open(self, search: int | None = None, /, *, until: float | None) -> OpenedPlan:
        """Open the best plan: once. Of several searches, that of one of them."""
        ...


class SimulatedSealedSearch:
    """The nodes' clear twin: the same search with the weights and a start that are all here."""

    opened = finished = False

    def __init__(
        self,
        problem: Problem,
        parameters: SealedParameters,
        weighting: Sequence[int],
        /,
        *,
        seed: int,
        stream: int,
    ) -> None:
        values = value_table(problem, weighting)
        shape = public_shape(problem, weighting)
        self.seed, self.searches = seed, (stream,)
        self.turn: int | None = None
        self._problem, self._weighting, self._shape = problem, weighting, shape
        self._finish: ClearExact | None = None
        self._best_mode = problem.objectives[0].best_mode
        schedule = Schedule(shape, parameters, seed=seed, stream=stream)
        if parameters.start == "grown":
            from tacit.engine.derived import clear_start

            start = np.tile(clear_start(values, problem, shape), (parameters.parents, 1))
        else:
            words = np.random.PCG64([seed, stream, _START_STREAM]).random_raw(
                parameters.parents * shape.columns
            )
            start = np.argsort(words.reshape(parameters.parents, -1), axis=1, kind="stable")
        self.twin = ClearSealedSearch(values, schedule, start, problem.sealed_items)
        """The search in the clear, for studies, which may look at everything."""

    @property
    def generation(self) -> int:
        """How many generations are done."""
        return self.twin.generation + (0 if self._finish is None else self._finish.phase)

    def advance(
        self,
        count: int,
        horizon: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
        turn: int | None = None,
    ) -> list[bool]:
        """Go on; tells what the agreement would allow."""
        if turn is not None:
            self._finish = self._finish or self._begin_finish()
            self._finish.advance(count)
            return []
        improved = self.twin.advance(count, horizon=horizon)
        return improved if self._best_mode is BestMode.IMPROVEMENT else []

    def _begin_finish(self) -> ClearExact:
        """The forest, which begins with the plan that was found."""
        from tacit.engine.agreement import FinishedCourse, search_course
        from tacit.engine.derived import ClearExact

        schedule = self.twin.schedule
        course = search_course(
            self._problem,
            self._shape,
            schedule.parameters,
            seed=schedule.seed,
            stream=schedule.stream,
        )
        if not isinstance(course, FinishedCourse):
            raise ParameterError("this search has no finish; set finish to its phases")
        self.turn = self.twin.generation
        values = weighted_values(self._problem, self._weighting)
        return ClearExact(course.forest, schedule.stream, values, plan=self.twin.plan())

    def open(
        self,
        search: int | None = None,  # noqa: ARG002 - there is one
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        """The best plan, and with a finish what is proved of it."""
        from tacit.engine.records import outcome_word

        told = self._best_mode is BestMode.VALUE
        if self._finish is not None:
            plan, value, outcome, gap = self._finish.answer()
            return SealedPlan(plan, value if told else None, self.generation, outcome, gap)
        found = self.twin.best_value if told else None
        parameters, plan = self.twin.schedule.parameters, self.twin.plan().tolist()
        if not parameters.finish:
            return SealedPlan(plan, found, self.generation)
        proved = outcome_word("feasible", plan, self._problem)
        widest = self._shape.rows * self._shape.unit if parameters.gap else None
        return SealedPlan(plan, found, self.generation, proved, widest)
