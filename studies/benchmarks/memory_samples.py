"""The memory of a platform and its nodes, sampled while they live."""

from __future__ import annotations

import statistics
import threading
import time
from pathlib import Path
from typing import Any

from studies.benchmarks.live_platform import LivePlatform

EVERY_SECONDS = 2.0
SETTLED_SECONDS = 90.0
"""A process has loaded all that it needs after so long; growth counts from there."""
WINDOW = 15
"""Samples at either end whose median is compared."""


def resident_megabytes(pid: int, /) -> float | None:
    """What a process has in memory; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    found = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(found[0].split()[1]) / 1024 if found else None


class MemorySamples:
    """Samples for as long as the block lasts."""

    def __init__(self, live: LivePlatform) -> None:
        self._live = live
        self._stop = threading.Event()
        self._samples: dict[tuple[str, int], list[tuple[float, float]]] = {}

    def __enter__(self) -> MemorySamples:
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            cluster = self._live.clusters[0]
            alive = [(f"node {i}", each.pid) for i, each in enumerate(cluster.processes)]
            if (platform := self._live.process) is not None:
                alive.append(("platform", platform.pid))
            for key in alive:
                megabytes = resident_megabytes(key[1])
                if megabytes is not None:
                    self._samples.setdefault(key, []).append((time.monotonic(), megabytes))

    def summary(self) -> dict[str, Any]:
        """The longest life of each process: how it grew once it had settled."""
        longest: dict[str, list[tuple[float, float]]] = {}
        for (name, _), samples in self._samples.items():
            if len(samples) > len(longest.get(name, [])):
                longest[name] = samples
        return {name: _growth(samples) for name, samples in sorted(longest.items())}


def _growth(samples: list[tuple[float, float]]) -> dict[str, float | None]:
    born, died = samples[0][0], samples[-1][0]
    settled = [(at, size) for at, size in samples if at - born >= SETTLED_SECONDS]
    made: dict[str, float | None] = {
        "life_minutes": round((died - born) / 60, 1),
        "most_megabytes": round(max(size for _, size in samples), 1),
        "settled_megabytes": None,
        "last_megabytes": None,
    }
    if len(settled) >= 2 * WINDOW:
        made["settled_megabytes"] = round(statistics.median(s for _, s in settled[:WINDOW]), 1)
        made["last_megabytes"] = round(statistics.median(s for _, s in settled[-WINDOW:]), 1)
    return made
