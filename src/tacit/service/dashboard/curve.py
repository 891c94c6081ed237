"""Fetch and draw the curve of a run: the best disclosed value over time."""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from tacit.client import RunView
from tacit.errors import ServiceError
from tacit.service.dashboard.sessions import ApiClient
from tacit.service.dashboard.words import number
from tacit.service.execution.progress_file import progress_points

LEFT, RIGHT, TOP, BOTTOM = 64.0, 22.0, 14.0, 34.0
MOST_POINTS = 400
"""More than the plot has pixels for would only make the page slow."""
Point = tuple[float, float]


@dataclass(frozen=True)
class _Frame:
    """Where seconds and values lie on the paper."""

    width: float
    height: float
    right: float
    low: float
    high: float

    def x(self, seconds: float) -> float:
        return LEFT + (self.width - LEFT - RIGHT) * seconds / self.right

    def y(self, value: float) -> float:
        span = (self.high - self.low) or 1.0
        return TOP + (self.height - TOP - BOTTOM) * (self.high - value) / span


def convergence_svg(
    points: Sequence[Point], /, *, label: str, until: float | None = None, live: bool = False
) -> str:
    """Draw values over seconds as a step line; `until` is where the time axis ends at least.

    Twice, for broad and for slim screens, since letters must not shrink with the picture.
    """
    if not points:
        return ""
    kept = thinned(points)
    right = max(until or 0.0, kept[-1][0], 0.1)
    ticks = round_ticks(min(value for _, value in kept), max(value for _, value in kept))
    said = (
        f"{label}: {number(kept[0][1])} at first, {number(kept[-1][1])} "
        f"after {kept[-1][0]:.1f} seconds"
    )
    return "".join(
        f'<svg class="convergence {name}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(said)}">'
        f"{_drawing(kept, _Frame(width, height, right, ticks[0], ticks[-1]), ticks, live)}</svg>"
        for name, width, height in (("broad", 960.0, 300.0), ("slim", 350.0, 240.0))
    )


def _drawing(points: Sequence[Point], frame: _Frame, ticks: Sequence[float], live: bool) -> str:
    line = _steps([(frame.x(seconds), frame.y(value)) for seconds, value in points])
    floor, start = frame.height - BOTTOM, frame.x(points[0][0])
    last_x, last_y = frame.x(points[-1][0]), frame.y(points[-1][1])
    dot = "dot live" if live else "dot"
    return (
        _value_axis(ticks, frame)
        + _time_axis(frame)
        + f'<path class="area" d="{line} V{floor:.1f} H{start:.1f} Z"/>'
        + f'<path class="line" d="{line}"/>'
        + f'<circle class="{dot}" cx="{last_x:.1f}" cy="{last_y:.1f}" r="4"/>'
    )


def thinned(points: Sequence[Point], /) -> list[Point]:
    """Drop points between which nothing changes, then keep every n-th; first and last stay.

    >>> thinned([(0, 9), (1, 9), (2, 9), (3, 5)])
    [(0, 9), (2, 9), (3, 5)]
    """
    last = len(points) - 1
    kept = [
        point
        for i, point in enumerate(points)
        if i in (0, last) or not points[i - 1][1] == point[1] == points[i + 1][1]
    ]
    stride = math.ceil(len(kept) / MOST_POINTS)
    return kept if stride == 1 else [*kept[:-1:stride], kept[-1]]


def round_ticks(low: float, high: float, /) -> list[float]:
    """Round values from at or below `low` to at or above `high`, about four.

    >>> round_ticks(632, 911)
    [600, 700, 800, 900, 1000]
    >>> round_ticks(5, 5)
    [4, 5, 6]
    """
    if low == high:
        return [low - 1, low, low + 1]
    raw = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = [round(i * step, 10) for i in range(first, last + 1)]
    return [int(tick) if tick == int(tick) else tick for tick in ticks]


def _steps(points: Sequence[Point]) -> str:
    start = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    return start + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])


def _value_axis(ticks: Sequence[float], frame: _Frame) -> str:
    return "".join(
        f'<line class="grid" x1="{LEFT}" x2="{frame.width - RIGHT}" y1="{frame.y(tick):.1f}" '
        f'y2="{frame.y(tick):.1f}"/><text x="{LEFT - 8}" y="{frame.y(tick) + 4:.1f}" '
        f'text-anchor="end">{number(tick)}</text>'
        for tick in ticks
    )


def _time_axis(frame: _Frame) -> str:
    ticks = [tick for tick in round_ticks(0, frame.right) if tick <= frame.right * 1.001]
    return "".join(
        f'<text x="{frame.x(tick):.1f}" y="{frame.height - 12}" text-anchor="middle">'
        f"{number(tick)} s</text>"
        for tick in ticks
    )


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
