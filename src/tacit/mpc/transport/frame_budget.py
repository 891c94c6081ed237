"""How many bytes of frames several links may have in memory together.

A link whose next frame does not fit reads nothing more until others are gone, so that its sender is
slowed down by the network. A frame counts until nobody uses its bytes any more.
"""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import Callable

FRAME_OVERHEAD = 512
"""Bytes that a frame takes beside its payload, so that empty ones count too."""


class FrameBudget:
    """Bytes of frames that are in memory, and who waits for room. One frame alone always fits.

    >>> import numpy as np
    >>> async def show() -> tuple[bool, bool, list[str]]:
    ...     budget, resumed = FrameBudget(2000), []
    ...     first, second = (np.empty(1000, np.uint8).data for _ in range(2))
    ...     now = budget.count(first, lambda: resumed.append("first"))
    ...     later = budget.count(second, lambda: resumed.append("second"))
    ...     del first
    ...     await asyncio.sleep(0)
    ...     return now, later, resumed
    >>> asyncio.run(show())
    (True, False, ['second'])
    """

    def __init__(self, most: int, /) -> None:
        self._most = most
        self.used = 0
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()

    def count(self, payload: memoryview, resume: Callable[[], None], /) -> bool:
        """Whether the bytes of a frame may be read now; otherwise `resume` is called later."""
        size = payload.nbytes + FRAME_OVERHEAD
        fits = not self._waiting and self._fits(size)
        if fits:
            self.used += size
        else:
            self._waiting.append((size, resume))
        loop = asyncio.get_running_loop()
        weakref.finalize(payload.obj, _soon, loop, self._gone, size, resume)
        return fits

    def _fits(self, size: int) -> bool:
        return not self.used or self.used + size <= self._most

    def _gone(self, size: int, resume: Callable[[], None]) -> None:
        if (size, resume) in self._waiting:
            # Its link ended before it was read, or had read all of it ahead.
            self._waiting.remove((size, resume))
            resume()
        else:
            self.used -= size
        while self._waiting and self._fits(self._waiting[0][0]):
            size, resume = self._waiting.popleft()
            self.used += size
            resume()


def _soon(
    loop: asyncio.AbstractEventLoop,
    gone: Callable[[int, Callable[[], None]], None],
    size: int,
    resume: Callable[[], None],
) -> None:
    """On the loop, whichever thread used the bytes last."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(gone, size, resume)
