"""The exact solver in the clear: the nodes' twin, of weights that are all here."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.agreement import ForestCourse
from tacit.mpc.forest import (
    ClearAnswer,
    ClearForest,
    ClearState,
    bound_of,
    finish_in_the_clear,
    matching_of_plan,
    warm_start_in_the_clear,
)


class ClearExact:
    """The same phases of one search, over the integers; `values` are those of each cell.

    Where it finishes a search, it begins with the `plan` of that.
    """

    def __init__(
        self,
        course: ForestCourse,
        search: int,
        values: NDArray[np.int64],
        /,
        *,
        plan: NDArray[np.integer[Any]] | None = None,
    ) -> None:
        self.course, self.search, self.phase = course.alone(search), search, 0
        course = self.course
        self._costs = course.clear_costs(values)
        self._forest = ClearForest(self._costs, course.shape, course.coins)
        self._state = self._start() if plan is None else self._warm_start(plan.tolist())

    def _start(self) -> ClearState:
        fallback, layout = self.course.fallback, self.course.layout
        first = None if fallback is None else matching_of_plan(fallback, layout)
        return replace(self._forest.start(), first=first)

    def _warm_start(self, plan: list[int]) -> ClearState:
        course = self.course
        return warm_start_in_the_clear(self._forest, plan, course.layout, fallback=course.fallback)

    def advance(self, count: int, /) -> None:
        """Some phases."""
        phases = self.course.phases[self.phase : self.phase + count]
        self._state = self._forest.advance(self._state, phases)
        self.phase += count

    @property
    def is_proved(self) -> bool:
        """Whether the plan is proved to be the optimum, or that there is none."""
        return self._completed().outcome.is_proved

    def _completed(self) -> ClearAnswer:
        layout, shape = self.course.layout, self.course.shape
        return finish_in_the_clear(
            self._state, self._costs, layout, shape, steps=self.course.ladder
        )

    def answer(self) -> tuple[list[int], int | None, str, int | None]:
        """The completed plan, its value, what is proved, and its gap if that is to be told.

        Without a plan neither.
        """
        course, found = self.course, self._completed()
        outcome = found.outcome.name.lower()
        if not found.outcome.has_plan:
            return [], None, outcome, None
        gap = bound_of(found.rung, course.ladder) if course.ladder else None
        return found.plan.tolist(), course.value_of(self.search, found.total), outcome, gap
