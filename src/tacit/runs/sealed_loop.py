"""A sealed search driven to its limits: generations in batches, then the one opening.

Nothing is known of the search but time and generations, so nothing else decides. The temperature
follows the time that is left: every batch names how many generations there will be, as far as one
can tell by then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tacit.errors import MpcError
from tacit.runs.limits import StopReason

BATCH_SECONDS = 0.5
"""So long a batch takes, about. A node that dies costs the batch that is under way."""
LEAST_IN_BATCH = 12
"""Over slow links a batch takes longer, since its end costs as much as a generation."""
PART_OF_THE_REST = 4
"""A batch takes no more than this part of the time that is left, so that a slow one still ends."""
MOST_IN_BATCH = 1000
SETTLING = 1
"""What the end of a batch takes, in generations."""
OPENING_SECONDS = 0.3
"""Set aside before the deadline for the opening."""
FIRST_GUESS = 0.02
"""Seconds that a generation takes, until one was measured."""


class OpenedPlan(Protocol):
    """What a sealed search opens in the end."""

    @property
    def plan(self) -> list[int]:
        """The best plan."""
        ...

    @property
    def value(self) -> int | None:
        """What it is worth under the search's weighting, if that is told."""
        ...

    @property
    def generation(self) -> int:
        """After so many generations."""
        ...


@dataclass(frozen=True)
class SealedPlan:
    """A plan that was opened in the clear, or none yet."""

    plan: list[int]
    value: int | None
    generation: int


class SealedSearching(Protocol):
    """A sealed search, on nodes or in the clear."""

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

    def open(self, *, until: float | None) -> OpenedPlan:
        """Open the best plan: once."""
        ...


@dataclass(frozen=True)
class SealedView:
    """All that can be shown of a sealed search while it runs."""

    search: int
    searches: int
    generation: int
    seconds: float


SealedObserver = Callable[[SealedView], None]


@dataclass
class SealedRun:
    """What one sealed search did and opened."""

    opened: OpenedPlan
    seed: int
    reason: StopReason
    schedule: list[tuple[int, int, int]] = field(default_factory=list)
    """First generation, how many, and the number of generations then expected."""
    improved: list[bool] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    """When each generation was done, as far as batches tell."""
    notes: list[str] = field(default_factory=list)


@dataclass
class SealedLoop:
    """Drives one search; `generations` and `until` are its limits.

    >>> loop = SealedLoop(generations=10, until=None)
    >>> loop.next_batch(0, now=0.0)
    (10, 10)
    >>> SealedLoop(generations=None, until=10.3).next_batch(0, now=0.0)
    (1, 479)
    """

    generations: int | None
    until: float | None
    observe: Callable[[int], None] | None = None
    pace: float = FIRST_GUESS
    """Seconds per generation."""
    measured: bool = False

    @property
    def reserve(self) -> float:
        """Seconds kept for the opening: two messages there and back, and a node that hangs."""
        return OPENING_SECONDS + (self.pace / 2 if self.measured else 0.0)

    def next_batch(self, done: int, *, now: float) -> tuple[int, int] | None:
        """How many generations come next, and how many there will be in all; None to stop."""
        usual = max(LEAST_IN_BATCH, min(int(BATCH_SECONDS / self.pace), MOST_IN_BATCH))
        count, horizon = usual, None
        if self.until is not None:
            fits = int((self.until - self.reserve - now) / self.pace) - SETTLING
            if fits < 1:
                return None
            # The first one shows how long they take; the last ones are small.
            count = min(count, max(1, fits // PART_OF_THE_REST)) if self.measured else 1
            horizon = done + max(1, fits * usual // (usual + SETTLING))
        if self.generations is not None:
            left = self.generations - done
            if left < 1:
                return None
            count = min(count, left)
            horizon = self.generations if horizon is None else min(horizon, self.generations)
        return count, horizon if horizon is not None else done + count

    def run(self, search: SealedSearching, /) -> SealedRun:
        """Search until a limit is reached, and open the plan."""
        begun = time.monotonic()
        made = SealedRun(SealedPlan([], None, 0), search.seed, StopReason.GENERATIONS)
        try:
            while not search.opened:
                batch = self.next_batch(search.generation, now=time.monotonic())
                if batch is None:
                    break
                self._one_batch(search, batch, made, begun)
            over = self.generations is not None and search.generation >= self.generations
            made.reason = StopReason.GENERATIONS if over else StopReason.DEADLINE
        except KeyboardInterrupt:
            made.reason = StopReason.INTERRUPTED
        except MpcError as error:
            late = self.until is not None and time.monotonic() >= self.until - 2 * self.reserve
            made.reason = StopReason.DEADLINE if late else StopReason.NODES
            # Generations that only just did not fit are nobody's fault.
            if not late or getattr(error, "peer", "") != "the nodes":
                made.notes.append(f"{error}; the plan is that of generation {search.generation}")
        made.opened = search.open(until=self.until)
        if made.opened.generation == 0:
            made.notes.append("no generation was finished in time; the plan is a random one")
        made.seed = search.seed
        return made

    def _one_batch(
        self,
        search: SealedSearching,
        batch: tuple[int, int],
        made: SealedRun,
        begun: float,
    ) -> None:
        count, horizon = batch
        first, start = search.generation, time.monotonic()
        latest = None if self.until is None else self.until - self.reserve
        made.improved += search.advance(count, horizon, until=latest)
        now = time.monotonic()
        count = search.generation - first
        _note(made.schedule, (first, count, horizon))
        made.ends += [now - begun] * count
        pace = (now - start) / (count + SETTLING)
        # Some of the past, so that one slow batch does not change the temperature at once.
        new = max(0.3, count / (count + first)) if self.measured else 1.0
        self.pace = max(1e-6, (1 - new) * self.pace + new * pace)
        self.measured = True
        if self.observe is not None:
            self.observe(search.generation)


def _note(schedule: list[tuple[int, int, int]], batch: tuple[int, int, int]) -> None:
    """Add a batch, or lengthen the last one if it expected the same."""
    if schedule and schedule[-1][2] == batch[2]:
        first, count, horizon = schedule[-1]
        schedule[-1] = (first, count + batch[1], horizon)
    else:
        schedule.append(batch)
