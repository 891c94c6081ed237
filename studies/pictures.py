"""Pictures of studies: colours, panels, and text that lies on nothing else.

Configurations differ by panel, not by colour; colours are from the palette of Okabe and Ito, and
lines differ in width, markers in shape, so that print and colour-blind readers lose nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import cos, hypot, pi, sin
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.disclosure import split_disclosure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

COLOURS = {
    "none": "#000000",
    "buckets": "#0072B2",
    "above": "#D55E00",
    "order": "#009E73",
    "quantiles": "#CC79A7",
    "top": "#56B4E9",
}
OTHER = "#E69F00"
COLUMNS_OF_PANELS = 4
WIDTH = 10.0
"""Of a figure with panels, in inches."""
TITLE_SIZE = 9
LABEL_SIZE = 7
WIDTH_OF_A_LETTER = 0.6
"""In font sizes; letters of the default font are narrower on average."""
NEAR, FAR, STEP = 9, 150, 6
"""How far a label may lie from its point, in printer's points."""
WIDE = 2.2
"""Text is wider than high, so labels go that much further sideways."""
HALF_A_MARKER = 4.0
GAP = 3.0
"""Pixels between a label and anything else."""
MOST_TICKS = 6


def draw_fronts(
    fronts: Mapping[str, NDArray[np.float64]], truth: NDArray[np.float64], path: Path, /
) -> None:
    """The last estimated non-dominated set of the run with the median IGD+, per disclosure."""
    figure, panels = panels_of(list(fronts))
    order = np.argsort(truth[:, 0])
    for (disclosure, points), axes in zip(fronts.items(), panels, strict=True):
        method, _ = split_disclosure(disclosure)
        axes.plot(*truth[order].T, color="#888888", lw=1.2, marker=".", ms=3)
        axes.plot(*points.T, ls="", marker="o", ms=3.2, mfc=COLOURS.get(method, OTHER), mec="white",
                  mew=0.3)  # fmt: skip
        axes.set_title(disclosure, fontsize=9)
    figure.supxlabel("objective 1", fontsize=9)
    figure.supylabel("objective 2", fontsize=9)
    set_title(figure, "line: ground truth, dots: last set of the run with the median IGD+")
    figure.savefig(path, dpi=110)


def empty_figure(
    width: float, height: float, /, *, layout: Literal["constrained"] | None = "constrained"
) -> Figure:
    """A figure that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=layout)
    FigureCanvasAgg(figure)
    return figure


def panels_of(names: list[str], /) -> tuple[Figure, list[Axes]]:
    """A figure with one panel per name, all on the same scale."""
    rows = -(-len(names) // COLUMNS_OF_PANELS)
    height = 0.8 + 2.1 * rows
    # Panels of one size need no layout engine, which draws each of them several times.
    figure = empty_figure(WIDTH, height, layout=None)
    figure.subplots_adjust(
        left=0.7 / WIDTH,
        right=1 - 0.15 / WIDTH,
        bottom=0.5 / height,
        top=1 - 0.55 / height,
        wspace=0.08,
        hspace=0.22,
    )
    grid = figure.subplots(rows, COLUMNS_OF_PANELS, sharex=True, sharey=True, squeeze=False)
    panels: list[Axes] = list(grid.ravel())
    for unused in panels[len(names) :]:
        unused.set_axis_off()
    for below, axes in zip(panels[COLUMNS_OF_PANELS:], panels, strict=False):
        # The lowest panel of each column carries the numbers, also above an empty place.
        axes.tick_params(labelbottom=not below.axison)
    for axes in panels:
        axes.tick_params(labelsize=7)
        axes.grid(alpha=0.25)
    short_ticks(panels[0])  # all panels share it
    return figure, panels[: len(names)]


def set_title(figure: Figure, text: str, /) -> None:
    """A title over all panels, in as many lines as the width asks for."""
    letters = int(72 * figure.get_figwidth() / (WIDTH_OF_A_LETTER * TITLE_SIZE))
    figure.suptitle(fill(text, letters), fontsize=TITLE_SIZE)


def short_number(value: float, place: int = 0, /) -> str:  # noqa: ARG001 - Matplotlib's signature
    """A tick's number, thousands with a k.

    >>> short_number(97500.0), short_number(0.25), short_number(500)
    ('97.5k', '0.25', '500')
    """
    return f"{value / 1000:g}k" if abs(value) >= 10_000 else f"{value:g}"


def short_ticks(axes: Axes, /) -> None:
    """Few ticks with short numbers, so that neighbours in a small panel stay apart."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(MOST_TICKS, steps=[1, 2, 5, 10]))
        axis.set_major_formatter(FuncFormatter(short_number))


def label_points(axes: Axes, labels: Sequence[tuple[float, float, str]], /) -> None:
    """Write a name beside each point (x, y, name), away from other names and from the points.

    Call it last: it fixes the layout of the figure, by which it measures.
    """
    figure = axes.figure.figure
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    taken = [_around(axes, x, y) for x, y, _ in labels]
    for x, y, name in sorted(labels, key=lambda each: (-each[1], each[0])):
        taken.append(_placed(axes, x, y, name, taken))


def _around(axes: Axes, x: float, y: float) -> Bbox:
    from matplotlib.transforms import Bbox

    at_x, at_y = axes.transData.transform((x, y))
    half = HALF_A_MARKER * axes.figure.dpi / 72
    return Bbox([[at_x - half, at_y - half], [at_x + half, at_y + half]])


def _placed(axes: Axes, x: float, y: float, name: str, taken: Sequence[Bbox]) -> Bbox:
    label = axes.annotate(name, (x, y), xytext=(0, 0), textcoords="offset points",
                          ha="center", va="center", fontsize=LABEL_SIZE)  # fmt: skip
    inside = axes.get_window_extent()
    box = label.get_window_extent()
    for across, up in _offsets():
        label.set_position((across, up))
        box = label.get_window_extent()
        fits = inside.x0 <= box.x0 and box.x1 <= inside.x1
        fits = fits and inside.y0 <= box.y0 and box.y1 <= inside.y1
        if fits and not box.padded(GAP).count_overlaps(taken):
            if hypot(across / WIDE, up) > NEAR + STEP:
                line = {"arrowstyle": "-", "lw": 0.4, "color": "#777777"}
                axes.annotate(
                    "", (x, y), xytext=(across, up), textcoords="offset points", arrowprops=line
                )
            break
    return box


def _offsets() -> Iterator[tuple[float, float]]:
    """Places around a point, nearer ones first."""
    for distance in range(NEAR, FAR, STEP):
        for turn in (1, 7, 3, 5, 0, 2, 4, 6, 8):
            angle = turn * pi / 8
            for side in (1, -1):
                yield WIDE * distance * cos(angle) * side, distance * sin(angle)
