"""Limit what one account or address may use: requests, bytes, long work."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tacit.errors import BusyError, TooManyError

MOST_BUCKETS = 10_000


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RateLimit:
    """Allow each key a number of requests, or bytes, a minute; they may come all at once.

    >>> limit = RateLimit(2, clock=lambda: 0.0)
    >>> limit.take("north"), limit.take("north")
    (None, None)
    >>> limit.take("north")
    Traceback (most recent call last):
    tacit.errors.TooManyError: more than 2 requests in a minute; retry in 30 s
    """

    def __init__(
        self,
        per_minute: int,
        /,
        *,
        what: str = "requests",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._per_minute, self._what, self._clock = per_minute, what, clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str, count: int = 1, /) -> None:
        """Count a request or so many bytes, or refuse them."""
        bucket = self._filled(key)
        if bucket.left < count:
            wait = math.ceil((count - bucket.left) * 60 / self._per_minute)
            # A refused request takes nothing, or a client that retries too soon would never get
            # through.
            raise TooManyError(
                f"more than {self._per_minute} {self._what} in a minute; retry in {wait} s",
                retry_after=wait,
            )
        bucket.left -= count

    def give_back(self, key: str, /) -> None:
        """Uncount a request that turned out to be none of those that are limited."""
        bucket = self._filled(key)
        bucket.left = min(self._per_minute, bucket.left + 1)

    def _filled(self, key: str) -> _Bucket:
        now = self._clock()
        bucket = self._buckets.setdefault(key, _Bucket(self._per_minute, now))
        bucket.left = min(self._per_minute, bucket.left + (now - bucket.at) * self._per_minute / 60)
        bucket.at = now
        self._buckets.move_to_end(key)
        # An attacker can invent any number of addresses. The longest unused buckets go first:
        # they are nearly always full again, so forgetting them gives nobody more requests.
        while len(self._buckets) > MOST_BUCKETS:
            self._buckets.popitem(last=False)
        return bucket


class ConcurrencyLimit:
    """Limit how many run at a time, how many an account may wait for, and for how long."""

    def __init__(self, what: str, /, *, at_once: int, each: int, within: float) -> None:
        self.what, self._each, self._within = what, each, within
        self._room = asyncio.Semaphore(at_once)
        self._requests: Counter[str] = Counter()

    @asynccontextmanager
    async def slot(self, account: str, /) -> AsyncIterator[None]:
        """Hold one of the slots for as long as the block lasts."""
        if self._requests[account] >= self._each:
            raise TooManyError(
                f"you have asked for {self.what} already; wait for that", retry_after=5
            )
        self._requests[account] += 1
        try:
            await self._enter()
            try:
                yield
            finally:
                self._room.release()
        finally:
            self._requests[account] -= 1
            if not self._requests[account]:
                del self._requests[account]

    async def _enter(self) -> None:
        try:
            async with asyncio.timeout(self._within):
                await self._room.acquire()
        except TimeoutError:
            raise BusyError(
                f"too many others have asked for {self.what}; retry in a minute"
            ) from None
