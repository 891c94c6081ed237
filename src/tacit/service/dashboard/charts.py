"""Draw charts by ECharts: the curve of a run, a front of plans, a matrix and a map of a plan.

The SVG renderer passes colours on as they are written. So they are variables of the style sheet,
and a chart follows the theme without being sent again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from nicegui import ui

from tacit.service.dashboard.words import number

Options = dict[str, Any]
Point = tuple[float, float]
# More than a chart has pixels for would only make the page slow.
MOST_POINTS = 400
# Plans with more rows or columns have no matrix.
MATRIX_LIMIT = 60
FONT = "system-ui, 'DejaVu Sans', sans-serif"
# Pixels for the numbers at the side of a chart.
VALUES = 70
# Pixels of a cell of a matrix and, at most, of a letter.
CELL, LETTER = 18, 7.2
# Pixels of a map and its edge, and how many places have their names beside them.
MAP_SIDE, MAP_EDGE, MOST_NAMES = 420.0, 20.0, 40
# Colours of what the pointer is on are derived from the usual ones, which fails for variables: a
# point would vanish under the pointer, and could not be clicked.
NO_HOVER: Options = {"emphasis": {"disabled": True}}
ACCENT, INK, SOFT, LINE, CARD, MARK = (
    f"var(--{name})" for name in ("accent", "ink", "soft", "line", "card", "mark")
)


class Drawing(NamedTuple):
    """Options of a chart with its size in pixels, where its content decides that."""

    options: Options
    width: float
    height: float


class Axis(NamedTuple):
    """An objective along a side of a front."""

    name: str
    sense: str
    values: Sequence[float]

    @property
    def label(self) -> str:
        return f"{self.name} ({'more' if self.sense == 'maximize' else 'less'} is better)"


def chart(options: Options, label: str, /, *, classes: str = "chart") -> ui.echart:
    """Show a chart. Screen readers get its label alone, as of a picture."""
    shown = ui.echart(options, renderer="svg").classes(classes)
    # Props are parsed as text; what comes from outside may hold quotes, so it is set by itself.
    shown.props["role"], shown.props["aria-label"] = "img", label
    return shown


def drawing(drawn: Drawing, label: str, /) -> None:
    """Show a chart at its own size, in a box that scrolls on a narrower page."""
    box = ui.element("div").classes("scroll picture").props('tabindex="0" role="region"')
    box.props["aria-label"] = "Picture of the plan"
    with box:
        shown = chart(drawn.options, label, classes="drawing")
        shown.style(f"width: {drawn.width:.0f}px; height: {drawn.height:.0f}px")


def redraw(shown: ui.echart, options: Options, label: str, /) -> None:
    """Send a chart's options if they changed."""
    shown.props["aria-label"] = label
    # Pages refresh every second; a chart of a run that ended is not sent again.
    if shown.options != options:
        shown.options.clear()
        shown.options.update(options)
        shown.update()


def curve(points: Sequence[Point], /, *, until: float | None = None) -> Options:
    """Draw values over seconds as steps. The time axis ends with the last point, or at `until`."""
    kept = thinned(points)
    shape: Options = {
        **NO_HOVER,
        "type": "line",
        "step": "end",
        "data": kept,
        "showSymbol": False,
        "lineStyle": {"color": ACCENT, "width": 2.5},
        "itemStyle": {"color": ACCENT},
        "areaStyle": {"color": ACCENT, "opacity": 0.1, "origin": "start"},
    }
    last: Options = {"type": "scatter", "data": kept[-1:], "symbolSize": 8, "silent": True}
    return {
        **_base(),
        "grid": {"left": VALUES, "right": 24, "top": 16, "bottom": 28},
        "xAxis": {
            **_value_axis(),
            "min": 0,
            "max": "dataMax" if until is None else max(until, kept[-1][0]),
            "axisLabel": {
                "color": SOFT,
                "formatter": "{value} s",
                "hideOverlap": True,
                # The end is no round number.
                "showMaxLabel": False,
            },
            "splitLine": {"show": False},
        },
        "yAxis": {**_value_axis(), "scale": True},
        "tooltip": {**_tooltip(), "trigger": "axis"},
        "series": [shape, {**last, "itemStyle": {"color": ACCENT}, "tooltip": {"show": False}}],
    }


def curve_label(name: str, points: Sequence[Point], /) -> str:
    """Describe a curve to screen readers.

    >>> curve_label("cost", [(0.5, 911), (2, 632.5)])
    'cost: 911 at first, 632.5 after 2.0 seconds'
    """
    first, (seconds, last) = points[0][1], points[-1]
    return f"{name}: {number(first)} at first, {number(last)} after {seconds:.1f} seconds"


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


def front(across: Axis, up: Axis, numbers: Sequence[int], picked: int, /) -> Options:
    """Draw a point per plan, named by its number in the result. The picked one stands out."""
    points = [
        {"name": f"Plan {each}", "value": [x, y]}
        for each, x, y in zip(numbers, across.values, up.values, strict=True)
    ]
    others: Options = {
        "name": "a plan",
        "data": [point for i, point in enumerate(points) if i != picked],
        "symbolSize": 11,
        "itemStyle": {"color": ACCENT, "opacity": 0.6, "borderColor": CARD},
    }
    # Drawn last, so that no other point covers it.
    chosen: Options = {
        "name": "the plan shown",
        "data": [points[picked]],
        "symbolSize": 17,
        "itemStyle": {"color": MARK, "borderColor": INK, "borderWidth": 2},
    }
    axes: list[Options] = [
        {**_value_axis(), "scale": True, "name": axis.label, "nameTextStyle": {"color": INK}}
        for axis in (across, up)
    ]
    axes[0] |= {"nameLocation": "middle", "nameGap": 26}
    axes[1]["nameTextStyle"] = {"color": INK, "align": "left"}
    return {
        **_base(),
        "grid": {"left": VALUES, "right": 28, "top": 34, "bottom": 84},
        "xAxis": axes[0],
        "yAxis": axes[1],
        "legend": _legend(),
        "tooltip": {**_tooltip(), "formatter": "{b}"},
        "series": [{**NO_HOVER, **each, "type": "scatter"} for each in (others, chosen)],
    }


def matrix(
    plan: Sequence[int],
    rows: Sequence[str],
    columns: Sequence[str],
    forbidden: frozenset[tuple[int, int]],
    /,
) -> Drawing | None:
    """Draw an assignment as squares; nothing if it is too large to be read."""
    if max(len(rows), len(columns)) > MATRIX_LIMIT:
        return None
    kinds: dict[str, list[tuple[int, int]]] = {"gets": [], "could have had": [], "may not have": []}
    for row, taken in enumerate(plan):
        for column in range(len(columns)):
            barred = (row, column) in forbidden
            kind = "gets" if column == taken else "may not have" if barred else "could have had"
            kinds[kind].append((column, row))
    looks: dict[str, Options] = {
        "gets": {"color": ACCENT},
        "could have had": {"color": "none", "borderColor": SOFT, "borderWidth": 0.5},
        "may not have": {"color": LINE},
    }
    left = 12 + LETTER * max(map(len, rows))
    # Names of columns stand at 60 degrees.
    tall = LETTER * max(map(len, columns))
    top, right, bottom = 14 + 0.87 * tall, 0.5 * tall + 8, 34
    wide, high = CELL * len(columns), CELL * len(rows)
    axis: Options = {
        "type": "category",
        "axisLine": {"show": False},
        "axisTick": {"show": False},
        "splitLine": {"show": False},
    }
    options: Options = {
        **_base(),
        "grid": {
            "left": left,
            "top": top,
            "width": wide,
            "height": high,
            "outerBoundsMode": "none",
        },
        "xAxis": {
            **axis,
            "data": list(columns),
            "position": "top",
            "axisLabel": {"color": SOFT, "interval": 0, "rotate": 60},
        },
        "yAxis": {
            **axis,
            "data": list(rows),
            "inverse": True,
            "axisLabel": {"color": SOFT, "interval": 0},
        },
        "legend": _legend(),
        "series": [
            {
                "type": "scatter",
                "name": kind,
                "data": cells,
                "symbol": "roundRect",
                "symbolSize": CELL - 3,
                "itemStyle": looks[kind],
                "silent": True,
            }
            for kind, cells in kinds.items()
            if cells
        ],
    }
    # The legend needs a line of its own, however few columns there are.
    return Drawing(options, max(left + wide + right, 380), top + high + bottom)


def tour_map(
    tour: Sequence[int], coordinates: Sequence[Sequence[float]], names: Sequence[str], /
) -> Drawing:
    """Draw a tour through its places, with the same scale in both directions."""
    xs, ys = [point[0] for point in coordinates], [point[1] for point in coordinates]
    spans = max(xs) - min(xs), max(ys) - min(ys)
    scale = MAP_SIDE / max(*spans, 1e-9)
    has_names = len(names) <= MOST_NAMES
    # A name beside a place on the right edge needs room.
    beside = LETTER * max(map(len, names)) if has_names else 0.0
    wide, high = (max(span * scale, 1.0) for span in spans)
    stops: list[Options] = [{"name": names[at], "value": [xs[at], ys[at]]} for at in tour]
    # The way ends where it began; the name there is written once.
    closed = [*stops, {**stops[0], "label": {"show": False}}]
    hidden: list[Options] = [
        {"type": "value", "show": False, "min": min(side), "max": max(max(side), min(side) + 1e-9)}
        for side in (xs, ys)
    ]
    label: Options = {
        "show": has_names,
        "formatter": "{b}",
        "position": "right",
        "color": INK,
        "textBorderColor": CARD,
        "textBorderWidth": 3,
    }
    options: Options = {
        **_base(),
        "grid": {"left": MAP_EDGE, "top": MAP_EDGE, "width": wide, "height": high},
        "xAxis": hidden[0],
        "yAxis": hidden[1],
        "tooltip": {**_tooltip(), "formatter": "{b}"},
        "series": [
            {
                **NO_HOVER,
                "type": "line",
                "data": closed,
                "symbol": "circle",
                "symbolSize": 8,
                "showAllSymbol": True,
                "itemStyle": {"color": INK},
                "lineStyle": {"color": ACCENT, "width": 2},
                "label": label,
            }
        ],
    }
    return Drawing(options, wide + 2 * MAP_EDGE + beside, high + 2 * MAP_EDGE)


def _base() -> Options:
    # Pages are looked at for hours; nothing moves that does not have to.
    return {"animation": False, "textStyle": {"fontFamily": FONT}}


def _value_axis() -> Options:
    return {
        "type": "value",
        "axisLabel": {"color": SOFT, "hideOverlap": True},
        "splitLine": {"lineStyle": {"color": LINE}},
        "axisLine": {"show": False},
        "axisTick": {"show": False},
    }


def _legend() -> Options:
    return {
        "bottom": 0,
        "left": 0,
        "selectedMode": False,
        "itemGap": 20,
        "textStyle": {"color": SOFT},
    }


def _tooltip() -> Options:
    # As text of the drawing: a tooltip in HTML would be one more place where names are escaped.
    return {
        "renderMode": "richText",
        "backgroundColor": CARD,
        "borderColor": LINE,
        "textStyle": {"color": INK},
    }
