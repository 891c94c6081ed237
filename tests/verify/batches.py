"""Log events of batches, as checks of logs take them."""

from __future__ import annotations

from tacit.records import BatchBegun
from tacit.records.requests import NO_ATTEMPT, Attempt


def batch_begun(first: int, count: int, attempt: Attempt = NO_ATTEMPT) -> BatchBegun:
    """A batch of the first search, of 9 steps in all."""
    return BatchBegun(0, first, count, 9, "ab", attempt, NO_ATTEMPT)
