"""A limit for long work: how much of it runs at a time, and how much an account may ask for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tacit.errors import BusyError, TooManyError


class ConcurrencyLimit:
    """Limits how many run at a time, how many an account has in it, and how long they wait."""

    def __init__(self, what: str, /, *, at_once: int, each: int, within: float) -> None:
        self.what, self._each, self._within = what, each, within
        self._room = asyncio.Semaphore(at_once)
        self._asked: Counter[str] = Counter()

    @asynccontextmanager
    async def of(self, account: str, /) -> AsyncIterator[None]:
        """Have a turn for as long as the block lasts."""
        if self._asked[account] >= self._each:
            raise TooManyError(
                f"you have asked for {self.what} already; wait for that", retry_after=5
            )
        self._asked[account] += 1
        try:
            await self._enter()
            try:
                yield
            finally:
                self._room.release()
        finally:
            self._asked[account] -= 1
            if not self._asked[account]:
                del self._asked[account]

    async def _enter(self) -> None:
        try:
            async with asyncio.timeout(self._within):
                await self._room.acquire()
        except TimeoutError:
            raise BusyError(
                f"too many others have asked for {self.what}; retry in a minute"
            ) from None
