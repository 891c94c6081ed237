"""When a search turns to its finish, and how many phases come next: by the clock alone.

It turns when the time that is left is what the finish needs. A phase was not measured by then: the
cost model says how many generations it takes, and these were.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.runs.sealed.pace import SETTLING, Pace

MARGIN = 1.3
"""By which a phase may take longer than it should."""
PART_OF_TIME = 2
"""A finish takes no more than this part of the time, and what does not fit is cut off."""
FEWEST_PHASES = 4
"""Where fewer fit, the search goes on to the end."""
BEGINNING = 1
"""What the finish begins with takes, in phases."""


@dataclass
class Finishing:
    """Plans the finishes of searches of the same pace, one after the other.

    >>> finishing = Finishing(phases=10, generation=0.02, phase=0.2)
    >>> finishing.next_search(now=0.0, until=20.0)
    >>> round(finishing.seconds_for(Pace(until=20.0, seconds=0.02)), 2)
    3.12
    >>> finishing.seconds_for(Pace(until=20.0, seconds=0.1, measured=True))  # five times slower
    10.0
    >>> finishing.seconds_for(Pace(until=20.0, seconds=2.0, measured=True))
    0.0
    """

    phases: int
    generation: float
    """Seconds that a generation takes by the model."""
    phase: float
    """Seconds that a phase takes by the model."""
    pace: Pace = field(init=False)
    """Of phases."""
    _time: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.pace = Pace(generations=self.phases, seconds=self.phase)

    def next_search(self, *, now: float, until: float | None) -> None:
        """Another search begins, which has so much time."""
        self.pace.until = until
        self._time = 0.0 if until is None else until - now

    def seconds_for(self, search: Pace, /) -> float:
        """How much time to leave for the finish; none where too few phases would fit."""
        if search.until is None:
            return 0.0
        if search.measured and not self.pace.measured:
            self.pace.seconds = self.phase * search.seconds / self.generation
        each, most = self.pace.seconds, self._time / PART_OF_TIME
        besides = BEGINNING + SETTLING
        if most < (FEWEST_PHASES + besides) * each:
            return 0.0
        return min(MARGIN * (self.phases + besides) * each, most)

    def next_batch(self, done: int, *, now: float) -> tuple[int, int] | None:
        """How many phases come next, of how many; None to stop."""
        begins = 0.0 if done else BEGINNING * self.pace.seconds
        return self.pace.next_batch(done, now=now + begins)

    def measure(self, done: int, count: int, seconds: float) -> None:
        """Note what a batch took."""
        self.pace.measure(done, count + (0 if done else BEGINNING), seconds)
