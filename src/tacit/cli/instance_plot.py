"""A picture of a problem: a heat map of its weights, or a map of its cities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import FileError, TacitError
from tacit.files import writing
from tacit.problems import Objective, Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_problem(problem: Problem, path: Path, /) -> None:
    """Draw a problem to a PNG, SVG or PDF file, without a display."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise FileError(path, None, "pictures are not written in this format", "name a .png file")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise TacitError(
            "plots need Matplotlib, which is not installed; run pip install 'tacit[solve]'"
        ) from None
    shown = [o for o in problem.objectives if o.weights is not None]
    has_map = problem.coordinates is not None
    panels = 1 if has_map else len(shown)
    if not panels:
        what = f"the weights of {problem.name} are with its owners"
        raise TacitError(f"{what}, so there is nothing to draw; plot a problem with weights")
    figure = Figure(figsize=(5.5 * panels, 5), layout="constrained")
    FigureCanvasAgg(figure)
    for panel in range(panels):
        axes = figure.add_subplot(1, panels, panel + 1)
        if has_map:
            _draw_cities(problem, axes)
        else:
            _draw_weights(problem, shown[panel], axes)
    with writing(path):
        figure.savefig(path, dpi=150)


def _draw_cities(problem: Problem, axes: Axes) -> None:
    if problem.coordinates is not None:
        axes.plot(problem.coordinates[:, 0], problem.coordinates[:, 1], "o", markersize=4)
    axes.set_title(f"{problem.name}, {problem.rows} cities")
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    axes.set_aspect("equal")


def _draw_weights(problem: Problem, objective: Objective, axes: Axes) -> None:
    if objective.weights is None or axes.figure is None:
        return
    image = axes.imshow(objective.weights / objective.scale, aspect="auto", cmap="viridis")
    axes.figure.colorbar(image, ax=axes, label=f"{objective.name} ({objective.sense})")
    axes.set_title(f"{problem.name}, {problem.rows} x {problem.columns}")
    axes.set_xlabel("column")
    axes.set_ylabel("row")
