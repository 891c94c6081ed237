"""How much memory the computations of a platform take at the same time.

What an agreement needs at most is estimated when it is taken, and refused above the same limit: see
`tacit.agreement.working_memory`. Nodes may begin computations in different orders, so none
waits long for the others: after a moment it is given up, which its coordinator tries again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tacit.errors import AbortError

WAIT_SECONDS = 1.0
MEGABYTE = 1_000_000


class MemoryBudget:
    """Bytes in use per platform; one computation alone always fits."""

    def __init__(self, name: str, /, *, megabytes: int) -> None:
        self._name, self._most = name, megabytes * MEGABYTE
        self._used: Counter[str] = Counter()
        self._freed = asyncio.Condition()

    def _fits(self, platform: str, size: int) -> bool:
        return not self._used[platform] or self._used[platform] + size <= self._most

    @asynccontextmanager
    async def reserve(self, platform: str, size: int, /) -> AsyncIterator[None]:
        """Use so many bytes, as soon as there is room for them."""
        async with self._freed:
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._freed.wait_for(lambda: self._fits(platform, size))
            except TimeoutError:
                what = "works on other large computations of this platform; try again"
                raise AbortError(self._name, what) from None
            self._used[platform] += size
        try:
            yield
        finally:
            self._used[platform] -= size
            async with self._freed:
                self._freed.notify_all()
