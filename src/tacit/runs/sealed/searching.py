"""A sealed search as its driver sees it: on nodes, or simulated with all that they would hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from tacit.search import ClearTour, weighted_values

if TYPE_CHECKING:
    from tacit.agreement import SealedGroup, SealedRun
    from tacit.derived import ClearRun
    from tacit.records import SealedPlan


class SealedSearching(Protocol):
    """A group of sealed searches that go on together, on nodes or in the clear."""

    @property
    def searches(self) -> Sequence[int]:
        """Their numbers."""
        ...

    @property
    def step(self) -> int:
        """How many steps are done."""
        ...

    @property
    def opened(self) -> bool:
        """Whether a plan was opened before, so that nothing but that plan follows."""
        ...

    @property
    def finished(self) -> bool:
        """Whether it was opened that all plans are proved, where that was agreed."""
        ...

    @property
    def seed(self) -> int:
        """What moves and tie-breaks follow from."""
        ...

    def advance(self, count: int, horizon: int, /, *, until: float | None) -> None:
        """Go on by so many steps, of as many as the horizon says."""
        ...

    def open(self, search: int, /, *, until: float | None) -> SealedPlan:
        """Open the best plan of one of the searches: once."""
        ...


class SimulatedSearch:
    """The nodes' clear twin of a group: the same steps, of weights and a start that are here."""

    opened = False

    def __init__(self, run: SealedRun, group: SealedGroup, /) -> None:
        from tacit.agreement import AssignmentGroup
        from tacit.derived import ClearRun
        from tacit.search.moves import TourParameters

        self._run, self.seed, self.searches = run, group.seed, group.searches
        self.twins: dict[int, ClearTour | ClearRun] = {}
        """By weighting, for studies, which may look at everything."""
        for search in group.searches:
            factors = run.weightings[search]
            if isinstance(group, AssignmentGroup):
                values = weighted_values(run.problem, factors)
                self.twins[search] = ClearRun(group, search, values)
            else:
                assert isinstance(run.parameters, TourParameters)
                self.twins[search] = ClearTour.drawn(
                    run.problem, run.parameters, factors, seed=group.seed, stream=search
                )
        self.finished = False

    @property
    def step(self) -> int:
        """How many steps are done."""
        return self.twins[self.searches[0]].step

    def advance(
        self,
        count: int,
        horizon: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> None:
        """Go on by so many steps; a batch ends at a checkpoint, where `finished` is opened."""
        checkpoints = self._run.checkpoints
        count = min([count, *(step - self.step for step in checkpoints if step > self.step)])
        for twin in self.twins.values():
            twin.advance(count, horizon=horizon)
        if self.step in checkpoints:
            self.finished = all(twin.is_proved for twin in self.twins.values())

    def open(
        self,
        search: int,
        /,
        *,
        until: float | None,  # noqa: ARG002 - never waits
    ) -> SealedPlan:
        """Open the plan of a weighting, and what is proved of it."""
        from tacit.records import OUTCOMES, SealedPlan

        twin = self.twins[search]
        value = twin.value if self._run.opens_value else None
        outcome = OUTCOMES[twin.is_proved] if self._run.is_exact else None
        return SealedPlan(twin.plan(), value, twin.step, outcome, twin.gap)
