"""How many lines a platform or a stranger can cause in a log: a flood must not fill the disk."""

from __future__ import annotations

import time
from collections.abc import Callable


class LineLimit:
    """A supply of lines that fills up again with time."""

    def __init__(
        self,
        *,
        burst: int,
        per_minute: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst, self._rate, self._clock = burst, per_minute / 60, clock
        self._left, self._at = float(burst), clock()
        self._left_out = 0

    def admit(self) -> int | None:
        """How many lines were left out before this one, or None if it is left out as well."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            self._left_out += 1
            return None
        self._left -= 1
        left_out, self._left_out = self._left_out, 0
        return left_out
