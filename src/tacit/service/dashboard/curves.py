"""The curves of runs, fetched now and then and once for all who look."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.client import RunView
from tacit.errors import ServiceError
from tacit.service.dashboard.api_client import ApiClient
from tacit.service.dashboard.convergence import Point, thinned
from tacit.service.execution.progress_file import progress_points

SHORTEST_SECONDS, LONGEST_SECONDS = 2.0, 30.0
SHARE = 0.1
"""A curve is fetched again once its run has gone on by a tenth, within these bounds."""
MOST_CURVES = 64


@dataclass
class _Curve:
    points: list[Point] = field(default_factory=list)
    at: float = float("-inf")
    state: str | None = None
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class Curves:
    """What is known of each run; who asks for one has just been shown the run by the API."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._curves: OrderedDict[str, _Curve] = OrderedDict()

    def pause(self, seconds: float, /) -> float:
        """How long a curve is good enough, so far into its run."""
        return min(max(SHARE * seconds, SHORTEST_SECONDS), LONGEST_SECONDS)

    async def points(self, api: ApiClient, run: RunView, /) -> list[Point]:
        """The curve of a run so far, fetched with the token of the visitor if it is too old."""
        curve = self._curves.setdefault(run.id, _Curve())
        self._curves.move_to_end(run.id)
        while len(self._curves) > MOST_CURVES:
            self._curves.popitem(last=False)
        async with curve.lock:
            if self._is_old(curve, run):
                await self._fetch(curve, api, run)
        return curve.points

    def _is_old(self, curve: _Curve, run: RunView) -> bool:
        age = self._clock() - curve.at
        if curve.state != run.state:
            return curve.state is not None or age >= SHORTEST_SECONDS
        seconds = 0.0 if run.progress is None else run.progress.seconds
        return run.state == "running" and age >= self.pause(seconds)

    async def _fetch(self, curve: _Curve, api: ApiClient, run: RunView) -> None:
        try:
            answer = await api.fetch(f"/runs/{run.id}/progress.csv")
            curve.points, curve.state = thinned(progress_points(answer.text)), run.state
        except ServiceError:
            # It is asked for again, though not at once.
            curve.state = None
        curve.at = self._clock()
