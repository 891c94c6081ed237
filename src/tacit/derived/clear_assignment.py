"""A sealed assignment in the clear: the nodes' twin, of weights that are all here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.agreement.sealed_groups import AssignmentGroup
from tacit.mpc.assignment import ClearAssignment, ClearState, bound_of, rung_of

# A stream of its own: the start must not repeat the words that moves or ties are drawn from.
_START_STREAM = 1 << 32


class ClearRun:
    """The same steps of one weighting, over the integers; `values` are those of each cell.

    Where nodes would draw the first plan, this one follows from the seed.
    """

    def __init__(self, group: AssignmentGroup, search: int, values: NDArray[np.int64], /) -> None:
        self.group, self.search = group.alone(search), search
        costs, lag = self.group.clear_costs(values), group.parameters.lag
        self._twin = ClearAssignment(costs, self.group.ties, lag, self.group.layout.allowed)
        first = group.start
        if first is None:
            words = np.random.PCG64([group.seed, search, _START_STREAM]).random_raw(len(costs))
            first = tuple(int(place) for place in np.argsort(words, kind="stable"))
        self.state: ClearState = self._twin.start(first)

    @property
    def step(self) -> int:
        return self.state.step

    def advance(self, count: int, /, *, horizon: int = 0) -> None:  # noqa: ARG002 - no step depends on it
        """Run some steps: generations of the descent, then iterations."""
        end = self.step + count
        self.state = self._twin.descend(self.state, self.group.generations(self.step, end))
        self.state = self._twin.advance(self.state, end - self.step)

    @property
    def _tries_proof(self) -> bool:
        return self.step > self.group.parameters.generations

    @property
    def is_proved(self) -> bool:
        """Whether the plan is proved; prices of before the first iteration prove nothing."""
        return self._tries_proof and self._twin.gap(self.state) == 0

    @property
    def value(self) -> int:
        return self.group.value_of(self.search, self._twin.total(self.state))

    def plan(self) -> list[int]:
        """The column of each row."""
        places = self.state.column_of[: self.group.layout.rows]
        return [int(self.group.layout.columns[place]) for place in places]

    @property
    def gap(self) -> int | None:
        """By at most how much the plan is worse than the optimum, where that is opened."""
        ladder = self.group.ladder
        if not ladder:
            return None
        rung = rung_of(self._twin.gap(self.state), ladder) if self._tries_proof else 0
        return bound_of(rung, ladder)
