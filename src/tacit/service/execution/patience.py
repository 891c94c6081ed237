"""Wait for nodes that are full, and not for ever: a run that finds no room fails in the end."""

from __future__ import annotations

import time
from collections.abc import Callable

from tacit.errors import RefusedError
from tacit.records import RefusalKind

FULL_SECONDS = 3600.0
"""For so long a run waits for room at a node: others may end, or the operator may allow more."""
AGAIN = "there was no room for an hour; make the run again when there is (tacit run new --like)"


class Patience:
    """How long one run has been refused by nodes that are full."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full_since: float | None = None

    def is_over(self, error: BaseException, /) -> bool:
        """Whether an attempt has failed since a node is full, and so have all for a long time."""
        if not (isinstance(error, RefusedError) and error.kind == RefusalKind.FULL):
            self._full_since = None
            return False
        now = self._clock()
        if self._full_since is None:
            self._full_since = now
        return now - self._full_since >= FULL_SECONDS
