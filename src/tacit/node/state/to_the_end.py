"""What must not stop in the middle, though whoever asked for it has gone."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def to_the_end(work: Coroutine[Any, Any, T], /) -> T:
    """Do some work; whoever is cancelled meanwhile is so only when it is done.

    A thread cannot be stopped, and nobody else may touch what it works on before it has ended.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    try:
        if cancelled is not None:
            # Its error, if it has one, is nobody's any more.
            _ = task.cancelled() or task.exception()
            raise cancelled
        return task.result()
    finally:
        # An error refers to this frame; without this, all that the work had would stay until the
        # garbage collector finds the circle.
        del task, cancelled
