"""When a search turns to its finish, and how many phases come next: by the clock alone.

It turns when the time that is left is what the finish needs. No phase was measured by then: the
cost model says how many generations one takes, and these were.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.runs.sealed.pace import Pace

MARGIN = 1.3
"""By which a phase may take longer than it should."""
FEWEST_PHASES = 4
"""With fewer a finish is not worth its beginning, unless its rule says otherwise."""
MOST_IN_BATCH = 6
"""A node that dies costs the batch that is under way."""
ENDING = 0.25
"""What the end of each batch takes, in phases."""


@dataclass
class Finishing:
    """Plans the finishes of searches of the same `pace`, one after the other.

    >>> pace = Pace(until=20.0, seconds=0.02)
    >>> finishing = Finishing(10, generation=0.02, phase=0.2, beginning=0.4, pace=pace)
    >>> finishing.next_search(now=0.0)
    >>> round(finishing.needed, 2)
    3.29
    >>> finishing.pace.measure(0, 1, 0.2)  # five times slower
    >>> finishing.needed
    10.0
    """

    phases: int
    generation: float
    """Seconds that a generation takes by the model."""
    phase: float
    """Seconds that a phase takes by the model."""
    beginning: float
    """What comes before the first phase, by the model."""
    pace: Pace
    """Of the generations."""
    part: float = 0.5
    """Of the time, at most, for the finish: what does not fit is cut off."""
    fewest: int = FEWEST_PHASES
    """Where fewer fit, the search goes on to the end."""
    _measured: float | None = field(init=False, default=None)
    _time: float = field(init=False, default=0.0)

    def next_search(self, *, now: float) -> None:
        """Another search begins, with the time that the pace says."""
        self._time = 0.0 if self.pace.until is None else self.pace.until - now

    @property
    def _begins(self) -> float:
        """In phases."""
        return self.beginning / self.phase

    @property
    def seconds(self) -> float:
        """What a phase takes."""
        if self._measured is not None:
            return self._measured
        slower = self.pace.seconds / self.generation if self.pace.measured else 1.0
        return self.phase * slower

    @property
    def needed(self) -> float:
        """How much time to leave for the finish; none where too few phases would fit."""
        if self.pace.until is None:
            return 0.0
        besides = self._begins + ENDING * (1 + self.phases / MOST_IN_BATCH)
        most = self._time * self.part
        if most < (self.fewest + besides) * self.seconds:
            return 0.0
        return min(MARGIN * (self.phases + besides) * self.seconds, most)

    def next_batch(self, done: int, *, now: float) -> int:
        """How many phases come next; none to stop."""
        count = min(self.phases - done, MOST_IN_BATCH)
        if self.pace.latest is None or count < 1:
            return max(0, count)
        besides = ENDING + (0.0 if done else self._begins)
        fits = int((self.pace.latest - now) / self.seconds - besides)
        if fits < 1:
            return 0
        # The first one shows how long they take. Where not all fit, a slow batch may still end.
        rest = fits if fits >= MARGIN * count else max(1, fits // 2)
        return min(count, rest) if self._measured is not None else 1

    def measure(self, done: int, count: int, seconds: float) -> None:
        """Note what a batch took."""
        took = max(1e-6, seconds / (count + ENDING + (0.0 if done else self._begins)))
        before = took if self._measured is None else self._measured
        self._measured = (before + took) / 2
