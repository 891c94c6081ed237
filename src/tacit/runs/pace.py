"""Plan the batches of a sealed run by the clock alone, since nothing else is known of it.

The temperature of a tour follows the time that is left: every batch names how many generations
there will be, as far as one can tell by then.
"""

from __future__ import annotations

from dataclasses import dataclass

BATCH_SECONDS = 0.5
"""So long a batch takes, about. A node that dies costs the batch that is under way."""
LEAST_IN_BATCH = 12
"""Over slow links a batch takes longer, since its end costs as much as a step."""
PART_OF_THE_REST = 4
"""A batch takes no more than this part of the time that is left, so that a slow one still ends."""
MOST_IN_BATCH = 1000
SETTLING = 1
"""What the end of a batch takes, in steps."""
OPENING_SECONDS = 0.4
"""Set aside before the deadline for the opening: three requests, one after the other."""
FURTHER_PLAN_SECONDS = 0.05
"""For each plan of a group after the first."""
FIRST_GUESS = 0.02
"""Seconds that a step takes, until one was measured."""


@dataclass
class Pace:
    """Plans batches for searches of the same pace, one after the other.

    >>> pace = Pace(generations=10)
    >>> pace.next_batch(0, now=0.0)
    (10, 10)
    >>> pace = Pace(until=10.4)
    >>> pace.next_batch(0, now=0.0)
    (1, 479)
    """

    generations: int | None = None
    until: float | None = None
    most_in_batch: int = MOST_IN_BATCH
    seconds: float = FIRST_GUESS
    """Per step."""
    measured: bool = False
    plans: int = 1
    """How many are opened at the end of a search."""
    account: float = 0.0
    """Seconds for counting the run before its plan is opened, where balances are kept."""

    @property
    def reserve(self) -> float:
        """Seconds kept for the opening: three messages there and back, and a node that hangs."""
        opening = OPENING_SECONDS + FURTHER_PLAN_SECONDS * (self.plans - 1)
        return opening + self.account + (self.seconds / 2 if self.measured else 0.0)

    @property
    def latest(self) -> float | None:
        """The instant at which the last batch must be done."""
        return None if self.until is None else self.until - self.reserve

    def next_batch(self, done: int, *, now: float) -> tuple[int, int] | None:
        """Return how many steps come next, and how many there will be in all; None to stop."""
        usual = max(LEAST_IN_BATCH, min(int(BATCH_SECONDS / self.seconds), MOST_IN_BATCH))
        count, horizon = min(usual, self.most_in_batch), None
        if self.until is not None:
            left = self.until - self.reserve - now
            fits = int(left / self.seconds) - SETTLING
            if fits < 1:
                return None
            # The first one shows how long they take; the last ones are small.
            count = min(count, max(1, fits // PART_OF_THE_REST)) if self.measured else 1
            # Every batch costs SETTLING steps more than it makes, which the horizon must leave out.
            horizon = done + max(1, fits * usual // (usual + SETTLING))
        # Both limits hold, so the smaller of the two decides.
        if self.generations is not None:
            left = self.generations - done
            if left < 1:
                return None
            count = min(count, left)
            horizon = self.generations if horizon is None else min(horizon, self.generations)
        return count, horizon if horizon is not None else done + count

    def expect(self, seconds: float) -> None:
        """Switch to steps of another kind that should take so long; none was measured yet."""
        self.seconds, self.measured = max(1e-6, seconds), False

    def measure(self, first: int, count: int, seconds: float) -> None:
        """Note what a batch took that began after the step `first`."""
        took = seconds / (count + SETTLING)
        # Some of the past, so that one slow batch does not change the temperature at once.
        new = max(0.3, count / (count + first)) if self.measured else 1.0
        self.seconds = max(1e-6, (1 - new) * self.seconds + new * took)
        self.measured = True
