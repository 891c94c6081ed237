"""The convergence plot as SVG: the best value told so far over time, drawn to follow the theme.

Colours come from the style sheet, so it needs no second picture for dark; nothing is fetched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from tacit.service.dashboard.words import number

WIDTH, HEIGHT = 640.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 12.0, 14.0, 34.0
MOST_POINTS = 400
"""More than the plot has pixels for would only make the page slow."""

Point = tuple[float, float]


def convergence_svg(
    points: Sequence[Point], /, *, label: str, until: float | None = None, live: bool = False
) -> str:
    """Draw values over seconds as a step line; `until` is where the time axis ends at least.

    >>> svg = convergence_svg([(0.1, 900), (0.4, 700), (1.2, 650)], label="delay cost")
    >>> svg.count("<path"), "delay cost" in svg
    (2, True)
    """
    if not points:
        return ""
    kept = thinned(points)
    right = max(until or 0.0, kept[-1][0], 0.1)
    low, high = min(value for _, value in kept), max(value for _, value in kept)
    ticks = round_ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    span = (high - low) or 1.0

    def x(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / right

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / span

    parts = [_grid(ticks, y), _time_axis(right, x)]
    line = _steps([(x(seconds), y(value)) for seconds, value in kept])
    last_x, last_y = x(kept[-1][0]), y(kept[-1][1])
    floor = HEIGHT - BOTTOM
    parts.append(f'<path class="area" d="{line} V{floor:.1f} H{x(kept[0][0]):.1f} Z"/>')
    parts.append(f'<path class="line" d="{line}"/>')
    pulse = ' class="dot live"' if live else ' class="dot"'
    parts.append(f'<circle{pulse} cx="{last_x:.1f}" cy="{last_y:.1f}" r="4"/>')
    said = (
        f"{label}: {number(kept[0][1])} at first, {number(kept[-1][1])} "
        f"after {kept[-1][0]:.1f} seconds"
    )
    return (
        f'<svg class="convergence" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" role="img" '
        f'aria-label="{escape(said)}">{"".join(parts)}</svg>'
    )


def thinned(points: Sequence[Point], /) -> list[Point]:
    """Drop points between which nothing changes, then every so many; first and last stay.

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


def round_ticks(low: float, high: float, /, *, about: int = 4) -> list[float]:
    """Round values from at or below `low` to at or above `high`, about so many.

    >>> round_ticks(632, 911)
    [600, 700, 800, 900, 1000]
    >>> round_ticks(5, 5)
    [4, 5, 6]
    """
    if low == high:
        return [low - 1, low, low + 1]
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= raw)
    first, last = math.floor(low / step), math.ceil(high / step)
    ticks = [round(i * step, 10) for i in range(first, last + 1)]
    return [int(tick) if tick == int(tick) else tick for tick in ticks]


def _steps(points: Sequence[Point]) -> str:
    start = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    return start + "".join(f"H{x:.1f}V{y:.1f}" for x, y in points[1:])


def _grid(ticks: Sequence[float], y) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    lines = []
    for tick in ticks:
        at = y(tick)
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>')
        lines.append(
            f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{number(tick)}</text>'
        )
    return "".join(lines)


def _time_axis(right: float, x) -> str:  # type: ignore[no-untyped-def]  # noqa: ANN001
    ticks = [tick for tick in round_ticks(0, right) if tick <= right * 1.001]
    return "".join(
        f'<text x="{x(tick):.1f}" y="{HEIGHT - 12}" text-anchor="middle">{number(tick)} s</text>'
        for tick in ticks
    )
