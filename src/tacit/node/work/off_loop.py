"""What takes time runs in threads, so that the event loop answers everybody else meanwhile.

Platforms have turns of their own: none waits for what another one asked for, and what takes memory
does not add up.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import ParamSpec, TypeVar

from tacit.node.state.to_the_end import to_the_end

P = ParamSpec("P")
T = TypeVar("T")


class Turns:
    """One turn at a time per platform. There are as many platforms as the operator has let in."""

    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._rests: dict[str, float] = {}

    @asynccontextmanager
    async def of(self, platform: str, /, *, rest: float = 0.0) -> AsyncIterator[None]:
        """A turn of a platform; afterwards it rests so many times as long as that took.

        Reading a long text holds up all threads, so the share of a platform in that is limited.
        """
        loop = asyncio.get_running_loop()
        async with self._locks.setdefault(platform, asyncio.Lock()):
            await asyncio.sleep(max(0.0, self._rests.pop(platform, 0.0) - loop.time()))
            begun = loop.time()
            try:
                yield
            finally:
                now = loop.time()
                self._rests[platform] = now + rest * (now - begun)


async def in_thread(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread; whoever is cancelled meanwhile waits for its end.

    A thread cannot be stopped. If nobody waited for it, requests that are cancelled again and again
    would pile up threads, and a file might be written by two of them.
    """
    return await to_the_end(asyncio.to_thread(function, *args, **kwargs))
