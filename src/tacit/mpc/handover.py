"""What one substream of a session computes for another that runs beside it.

The receiver waits for it, and counts the rounds that it took as its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from tacit.mpc.session import Session

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")


class Handover(Generic[T]):
    """A value that is given once, and taken by whoever needs it.

    >>> from tacit.mpc.local import run_parties
    >>> async def node(s):
    ...     value = Handover()
    ...     async def first(t):
    ...         await t.tell(b"something")
    ...         value.give(t, 7)
    ...     async def second(t):
    ...         return await value.take(t), t.depth
    ...     return (await s.in_parallel(first, second))[1]
    >>> run_parties(node).results[0]
    (7, 1)
    """

    def __init__(self) -> None:
        self._given: asyncio.Future[tuple[T, int, int]] = asyncio.get_running_loop().create_future()

    def give(self, session: Session, value: T) -> None:
        """Hand the value over, with the rounds that it took."""
        self._given.set_result((value, session.depth, session.exchanges))

    async def take(self, session: Session) -> T:
        """Wait for the value."""
        value, depth, exchanges = await asyncio.shield(self._given)
        session.depth = max(session.depth, depth)
        session.exchanges = max(session.exchanges, exchanges)
        return value


async def two_at_once(
    session: Session,
    first: Callable[[Session], Coroutine[Any, Any, A]],
    second: Callable[[Session], Coroutine[Any, Any, B]],
    *,
    substreams: Sequence[Session],
) -> tuple[A, B]:
    """Two protocols in parallel, each with a result of its own kind."""
    results: list[Any] = await session.in_parallel(first, second, substreams=substreams[:2])
    return results[0], results[1]
