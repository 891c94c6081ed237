"""Measures how long this test and the processes it started waited for a core.

A run promises to answer at its deadline. On a machine with other work it also waits for a core,
which is not the run's fault. A test of such a promise subtracts that wait::

    with CpuWaits() as waits:
        ...
    assert ended - deadline - waits.between(deadline, ended) < LATE

On an idle machine the wait is close to zero, so the promise is held to the same bound as before.
"""

from __future__ import annotations

import bisect
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

SAMPLE_SECONDS = 0.02


class CpuWaits:
    """Samples the scheduler's own count of waiting time while a `with` block lasts.

    The kernel counts, for each thread, the time that it could have run and did not
    (`/proc/PID/task/TID/schedstat`). Where there is no such count, nothing is subtracted.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, every: float = SAMPLE_SECONDS
    ) -> None:
        """Instants are those of `clock`; take `time.time` for what a platform reports."""
        self._clock, self._every = clock, every
        self._instants: list[float] = []
        self._totals: list[float] = []
        self._by_thread: dict[str, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> CpuWaits:
        self._take()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._take()

    def between(self, begin: float, end: float) -> float:
        """Return the seconds waited between two instants, by all threads together."""
        first = max(bisect.bisect_right(self._instants, begin) - 1, 0)
        last = min(bisect.bisect_left(self._instants, end), len(self._instants) - 1)
        return max(self._totals[last] - self._totals[first], 0.0)

    def _sample(self) -> None:
        while not self._stop.wait(self._every):
            self._take()

    def _take(self) -> None:
        # Threads that ended keep what they waited: the total never falls.
        for path in _thread_counts(os.getpid()):
            with suppress(OSError, IndexError, ValueError):
                self._by_thread[str(path)] = int(path.read_text().split()[1]) / 1e9
        self._instants.append(self._clock())
        self._totals.append(sum(self._by_thread.values()))


def _thread_counts(root: int) -> Iterator[Path]:
    """Yield the scheduler's file of every thread of a process and of its descendants."""
    pids = [root]
    while pids:
        tasks = Path(f"/proc/{pids.pop()}/task")
        with suppress(OSError):
            for task in tasks.iterdir():
                yield task / "schedstat"
                with suppress(OSError):
                    pids += map(int, (task / "children").read_text().split())
