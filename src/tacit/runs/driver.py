"""The contract of every search: start, advance, finish, checkpoint.

A search that evaluates candidates and one that the nodes make themselves, on nodes or simulated,
from a problem or from an agreement, are all drivers. `drive` runs one to its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tacit.problems import Problem
from tacit.runs.history import Disclosed
from tacit.runs.limits import Limits, StopReason
from tacit.runs.result import Outcome, Values

if TYPE_CHECKING:
    from tacit.runs.history import GenerationView

LATE_SECONDS = 30.0
"""So long after the deadline nodes may still send a plan that would be lost otherwise."""


@dataclass(frozen=True, eq=False)
class Progress:
    """The progress of a search, as observers see it: values only as far as they were disclosed."""

    generation: int
    """Of all searches together, where a run has several."""
    seconds: float
    evaluations: int = 0
    best: Disclosed = ()
    """The best that each objective has disclosed so far."""
    search: int = 0
    searches: int = 1
    """Those that advance together count once."""
    plans: int = 1
    iteration: int | None = None
    """Of the search under way, where it has made iterations after a descent."""
    steps: int | None = None
    """How many steps all searches make at most, where that is fixed."""
    evaluated: GenerationView | None = None
    """The last generation, of a search that evaluates candidates here."""


Observer = Callable[[Progress], None]


class SearchDriver(Protocol):
    """One search, from its start to its plan."""

    problem: Problem
    limits: Limits
    engine: str
    """Who evaluates or searches: `nodes` or `simulated`."""
    notes: list[str]
    """What went wrong on the way."""

    @property
    def seed(self) -> int:
        """The seed that the search follows from."""
        ...

    @property
    def proved(self) -> bool | None:
        """Whether all opened plans are proved to be optima; None where nothing is proved."""
        ...

    @property
    def opened_searches(self) -> Sequence[int]:
        """The numbers of the weightings of a sealed run whose plans were opened."""
        ...

    @property
    def gaps(self) -> list[float] | None:
        """By at most how much each opened plan is worse than the optimum, if disclosed."""
        ...

    @property
    def for_owners(self) -> bool:
        """Whether its plans were opened to their owners, and not here."""
        ...

    @property
    def can_resume(self) -> bool:
        """Whether the same nodes can continue it later."""
        ...

    def start(self, *, until: float | None = None) -> None:
        """Start the clock. `until` is an instant of `time.monotonic()`, or as the limits say."""
        ...

    def advance(self) -> StopReason | None:
        """Advance by a generation or a batch; returns a reason if there is nothing left to do."""
        ...

    def finish(self, reason: StopReason, /) -> None:
        """Open or reveal what was agreed."""
        ...

    def checkpoint(self) -> None:
        """Save the state of the search, if a file was given."""
        ...

    def progress(self) -> Progress:
        """The progress of the search so far."""
        ...

    def plans(self) -> list[list[int]]:
        """The best-known plans, the one to use first; none as long as nothing is known."""
        ...

    def values(self) -> list[Values]:
        """Of each of these plans, what was disclosed of its own values, in the user's unit."""
        ...

    def disclosed(self) -> Disclosed:
        """What was disclosed of the best fitness when these plans were found."""
        ...

    def outcome(self) -> Outcome:
        """The result of the search, once it is finished."""
        ...


def drive(
    driver: SearchDriver, /, *, until: float | None = None, observe: Observer | None = None
) -> StopReason:
    """Run a search until a limit or an interrupt, and finish it."""
    driver.start(until=until)
    try:
        while (reason := driver.advance()) is None:
            if observe is not None:
                observe(driver.progress())
    except KeyboardInterrupt:
        # A run that is interrupted still answers, with the best that it knows.
        reason = StopReason.INTERRUPTED
    driver.finish(reason)
    return reason


def end_of(limits: Limits, until: float | None, /) -> float | None:
    """The instant of `time.monotonic()` at which a search that starts now must have ended."""
    if until is None and limits.deadline is not None:
        return time.monotonic() + limits.deadline
    return until
