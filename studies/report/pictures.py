"""Convergence and front figures, one panel per disclosure.

Configurations differ by panel, not by colour; colours are from the palette of Okabe and Ito, and
lines differ in width, markers in shape, so that print and colour-blind readers lose nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from studies.paper import Column
from studies.report.column_figures import ColumnFigures, Curves
from studies.report.label_placement import set_title, short_ticks
from tacit.disclosure import split_disclosure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def draw_convergence(
    column: Column,
    curves: Curves,
    theirs: ColumnFigures,
    generations: Mapping[str, int],
    path: Path,
    /,
) -> None:
    """Every run, the median, and where the paper's medians lie: start, comparison, end."""
    figure, panels = panels_of(list(curves))
    for (disclosure, runs), axes in zip(curves.items(), panels, strict=True):
        method, _ = split_disclosure(disclosure)
        last = runs.shape[1] - 1
        at = np.arange(last + 1)
        axes.plot(at, runs.T, color="#BBBBBB", lw=0.4, rasterized=True)
        axes.plot(at, np.median(runs, axis=0), color=COLOURS.get(method, OTHER), lw=1.8)
        if disclosure in theirs.final:
            compared = min(generations.get(method, last), last)
            marks = [theirs.initial[disclosure], theirs.comparison[disclosure],
                     theirs.final[disclosure]]  # fmt: skip
            axes.plot([0, compared, last], [m.median for m in marks], ls="", marker="D", ms=4.5,
                      mfc="white", mec="black", clip_on=False, zorder=5)  # fmt: skip
        axes.set_title(disclosure, fontsize=9)
    figure.supxlabel("generation", fontsize=9)
    figure.supylabel(column.label, fontsize=9)
    set_title(figure, "thin: single runs, thick: their median, diamonds: the paper's medians")
    figure.savefig(path, dpi=110)


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
