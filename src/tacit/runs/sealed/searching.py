"""A sealed search as its driver sees it: on nodes, or simulated with all that they would hide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.disclosure import BestMode
from tacit.problems import Problem
from tacit.search import ClearSealedSearch, value_table
from tacit.search.moves import Schedule, SealedParameters, public_shape

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
        """What is proved of it, where it is an exact solution."""
        ...


@dataclass(frozen=True)
class SealedPlan:
    """A plan that was opened in the clear."""

    plan: list[int]
    value: int | None
    generation: int
    outcome: str | None = None


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
    def seed(self) -> int:
        """What the public schedule follows from."""
        ...

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> list[bool]:
        """Go on; tells whether each generation improved the best, if that was agreed."""
        ...

    def open(self, search: int | None = None, /, *, until: float | None) -> OpenedPlan:
        """Open the best plan: once. Of several searches, that of one of them."""
        ...


class SimulatedSealedSearch:
    """The nodes' clear twin: the same search with the weights and a start that are all here."""

    opened = False

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
        self._best_mode = problem.objectives[0].best_mode
        schedule = Schedule(shape, parameters, seed=seed, stream=stream)
        words = np.random.PCG64([seed, stream, _START_STREAM]).random_raw(
            parameters.parents * shape.columns
        )
        start = np.argsort(words.reshape(parameters.parents, -1), axis=1, kind="stable")
        self.twin = ClearSealedSearch(values, schedule, start, problem.sealed_items)
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
    ) -> list[bool]:
        """Go on; tells what the agreement would allow."""
        improved = self.twin.advance(count, horizon=horizon)
        return improved if self._best_mode is BestMode.IMPROVEMENT else []

    def open(
        self,
        search: int | None = None,  # noqa: ARG002 - there is one
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        """The best plan."""
        value = self.twin.best_value if self._best_mode is BestMode.VALUE else None
        return SealedPlan(self.twin.plan().tolist(), value, self.generation)
