"""The plans of several objectives as a picture: a point for each where its values are known.

Where they are not, plans are tiles: a picture of values that nobody knows would be made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from tacit.client import Plan, RunObjective
from tacit.service.dashboard.convergence import round_ticks
from tacit.service.dashboard.words import number

LEFT, RIGHT, TOP, BOTTOM = 76.0, 32.0, 30.0, 54.0
SIZES = (("broad", 520.0, 400.0), ("slim", 340.0, 320.0))
"""Twice, since letters must not shrink with the picture."""


@dataclass(frozen=True)
class Axis:
    """An objective along a side of the picture."""

    name: str
    sense: str
    values: Sequence[float]

    @property
    def label(self) -> str:
        """What is drawn, and which end is good."""
        better = "more is better" if self.sense == "maximize" else "less is better"
        return f"{self.name} ({better})"

    @property
    def ticks(self) -> list[float]:
        """Round values around all plans."""
        return round_ticks(min(self.values), max(self.values))


def known_objectives(plans: Sequence[Plan], /) -> list[int]:
    """The objectives of which each plan's own value is known.

    >>> known_objectives([Plan(items=[], values=[1.0, None]), Plan(items=[], values=[2.0, 5.0])])
    [0]
    >>> known_objectives([Plan(items=[])])
    []
    """
    count = max((len(plan.values or []) for plan in plans), default=0)
    return [
        k
        for k in range(count)
        if all((plan.values or [None] * count)[k] is not None for plan in plans)
    ]


def front_svg(across: Axis, up: Axis, picked: int, numbers: Sequence[int], /) -> str:
    """All plans as points, the picked one larger; `data-plan` is its place along the front.

    `numbers` are those of the plans in the result, by which everybody else calls them.
    """
    label = f"{len(across.values)} plans by {across.name} and {up.name}; arrow keys choose one"
    return "".join(
        f'<svg class="front {name}" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}">{_drawing(across, up, picked, numbers, width, height)}</svg>'
        for name, width, height in SIZES
    )


def _drawing(
    across: Axis, up: Axis, picked: int, numbers: Sequence[int], width: float, height: float
) -> str:
    x_ticks, y_ticks = across.ticks, up.ticks
    right, floor = width - RIGHT, height - BOTTOM

    def x(value: float) -> float:
        return LEFT + (right - LEFT) * (value - x_ticks[0]) / ((x_ticks[-1] - x_ticks[0]) or 1.0)

    def y(value: float) -> float:
        return floor - (floor - TOP) * (value - y_ticks[0]) / ((y_ticks[-1] - y_ticks[0]) or 1.0)

    parts = [
        f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{number(tick)}</text>'
        for tick in y_ticks
    ]
    # Every second number where there is little room for them.
    step = 2 if (right - LEFT) / len(x_ticks) < 64 else 1
    parts += [
        f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP}" y2="{floor}"/>'
        + (
            f'<text x="{x(tick):.1f}" y="{floor + 18}" text-anchor="middle">{number(tick)}</text>'
            if i % step == 0
            else ""
        )
        for i, tick in enumerate(x_ticks)
    ]
    parts.append(
        f'<text class="axis" x="{right}" y="{height - 10}" text-anchor="end">'
        f"{escape(across.label)}</text>"
        f'<text class="axis" x="4" y="14">{escape(up.label)}</text>'
    )
    # The picked plan last, so that none lies over it.
    order = [i for i in range(len(across.values)) if i != picked] + [picked]
    for i in order:
        kind, radius = ("point picked", 8) if i == picked else ("point", 5)
        parts.append(
            f'<circle class="{kind}" data-plan="{i}" r="{radius}" '
            f'cx="{x(across.values[i]):.1f}" cy="{y(up.values[i]):.1f}">'
            f"<title>Plan {numbers[i]}</title></circle>"
        )
    return "".join(parts)


def front_tiles(plans: Sequence[Plan], picked: int, /) -> str:
    """Plans without a place in a picture: their numbers, or what they were found for."""
    tiles = "".join(
        f'<span class="tile{" picked" if i == picked else ""}" data-plan="{i}">'
        f"{escape(' and '.join(plan.weightings or [str(i + 1)]))}</span>"
        for i, plan in enumerate(plans)
    )
    return f'<div class="tiles">{tiles}</div>'


def front_legend(*, drawn: bool) -> str:
    """What the marks mean."""
    shape = "dot" if drawn else "box"
    return (
        f'<p class="legend"><span class="key {shape}"></span> a plan '
        f'<span class="key {shape} picked"></span> the plan shown</p>'
    )


def plan_words(
    plan: Plan, objectives: Sequence[RunObjective], number_of_it: int, count: int, /
) -> str:
    """Which plan it is, with its own values as far as they are known.

    >>> pay, rest = (
    ...     RunObjective(name=name, sense="maximize", weight_bound=1) for name in ("pay", "rest")
    ... )
    >>> plan_words(Plan(items=[], values=[12287, None]), [pay, rest], 1, 3)
    'Plan 1 of 3: pay 12,287; rest not disclosed'
    >>> plan_words(Plan(items=[], weightings=["3:1"]), [pay, rest], 2, 3)
    'Plan 2 of 3, found for pay and rest weighed 3:1: its values were not disclosed'
    """
    words = f"Plan {number_of_it} of {count}"
    if plan.weightings:
        names = " and ".join(each.name for each in objectives)
        words += f", found for {names} weighed {' and '.join(plan.weightings)}"
    values = plan.values
    if not values:
        return f"{words}: its values were not disclosed"
    known = [
        f"{each.name} {'not disclosed' if value is None else number(value)}"
        for each, value in zip(objectives, values, strict=True)
    ]
    return f"{words}: {'; '.join(known)}"
