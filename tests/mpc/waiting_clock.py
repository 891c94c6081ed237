"""An event loop for parties that are all on it: its clock counts what it waited, and no more.

Neither computing nor waiting for a core takes time on that clock, so that no timeout ends because
the machine has other work. Without sockets nothing can come from outside either: the loop does not
even sleep, and a timeout is over as soon as nothing else can happen.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Waits(selectors.SelectSelector):
    """Counts the seconds for which it was asked to wait and nothing came."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> Any:
        # The loop itself has one entry here: that by which other threads wake it.
        alone = len(self.get_map()) <= 1
        found = super().select(0 if alone and timeout is not None else timeout)
        if not found:
            self.waited += max(timeout or 0.0, 0.0)
        return found


class WaitingLoop(asyncio.SelectorEventLoop):
    """No thread beside it may compute for it: that would count as waiting."""

    def __init__(self) -> None:
        self._waits = _Waits()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.waited


def run_without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """Run what needs nothing from outside on a loop of its own."""
    with asyncio.Runner(loop_factory=WaitingLoop) as runner:
        return runner.run(work)
