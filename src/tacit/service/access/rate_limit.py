"""How many requests one may make: a bucket per account, and one per address without a token."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tacit.errors import TooManyError

MOST_BUCKETS = 10_000
"""The longest unused are forgotten first; by then they are nearly always full again."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimit:
    """A number of requests a minute for each key; they may come all at once.

    >>> limit = RateLimit(2, clock=lambda: 0.0)
    >>> limit.take("north"), limit.take("north")
    (None, None)
    >>> limit.take("north")
    Traceback (most recent call last):
    tacit.errors.TooManyError: more than 2 requests in a minute; retry in 30 s
    """

    def __init__(self, per_minute: int, /, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str, /) -> None:
        """Count a request, or refuse it."""
        bucket = self._filled(key)
        if bucket.left < 1:
            wait = math.ceil((1 - bucket.left) * 60 / self._per_minute)
            raise TooManyError(
                f"more than {self._per_minute} requests in a minute; retry in {wait} s",
                retry_after=wait,
            )
        bucket.left -= 1

    def _filled(self, key: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(key, _Bucket(self._per_minute, now))
        bucket.left = min(self._per_minute, bucket.left + (now - bucket.at) * self._per_minute / 60)
        bucket.at = now
        self._buckets.move_to_end(key)
        while len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket
