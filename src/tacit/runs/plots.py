"""Pictures of a result: how it converged, and for two objectives the front it found.

Lines differ in style as well as colour, so that they can be told apart in print and by the
colour-blind (palette of Okabe and Ito).
"""

from __future__ import annotations

from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from tacit.errors import ParameterError
from tacit.files import writing
from tacit.runs.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONG_RUN = 1000
TITLE_SIZE = 11
NOTHING_DISCLOSED = "no value of the best was disclosed while this run went on"
"""In place of a curve, of a sealed search or where the best is withheld."""
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"


def plot_result(result: Result, path: str | Path, /) -> None:
    """Draw the result into a PNG, SVG or PDF file, by the file's ending."""
    check_plot_name(path)
    # The object interface keeps clear of pyplot's global state and of any screen.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    two_objectives = len(result.objectives) == 2
    figure = Figure(figsize=(11, 4.2) if two_objectives else (7, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    if two_objectives:
        left, right = figure.subplots(1, 2)
        draw_convergence(result, left)
        draw_front(result, right)
    else:
        draw_convergence(result, figure.subplots())
    _title(result, figure)
    with writing(path):
        figure.savefig(path, dpi=150)


def check_plot_name(path: str | Path, /) -> None:
    """Refuse a name whose ending is no picture's.

    >>> check_plot_name("run.txt")
    Traceback (most recent call last):
    tacit.errors.ParameterError: run.txt does not end in .png, .svg or .pdf; name the plot so
    """
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ParameterError(f"{path} does not end in .png, .svg or .pdf; name the plot so")


def _title(result: Result, figure: Figure) -> None:
    disclosed = ", ".join(objective.disclosure for objective in result.objectives)
    title = f"{result.problem.name}: {result.algorithm}, disclosing {disclosed}"
    # Names may be long; letters are on average a little over half as wide as high.
    letters = int(72 * figure.get_figwidth() / (0.62 * TITLE_SIZE))
    figure.suptitle(fill(title, letters), fontsize=TITLE_SIZE)


def draw_convergence(result: Result, axes: Axes, /) -> None:
    """The disclosed best and the actual mean of the estimated-best set over the generations."""
    history = result.history
    for k, objective in enumerate(result.objectives):
        named = f"{objective.name}: " if len(result.objectives) > 1 else ""
        colour = (BLUE, ORANGE, GREEN, GREY)[k % 4]
        if history.actual_mean is not None:
            means = [values[k] for values in history.actual_mean]
            axes.plot(
                history.generation,
                means,
                color=colour,
                lw=1.6,
                label=f"{named}actual, mean of the estimated-best set",
            )
        best = [values[k] for values in history.disclosed_best]
        # Bits of improvement are bools, which would be drawn as a curve between 0 and 1.
        if all(value is not None and not isinstance(value, bool) for value in best):
            axes.plot(
                history.generation,
                [float(value or 0) for value in best],
                color=colour,
                ls=":",
                lw=1.4,
                label=f"{named}best value disclosed",
            )
    if not axes.has_data():
        axes.text(0.5, 0.5, NOTHING_DISCLOSED, ha="center", va="center", transform=axes.transAxes)
        axes.set_xlim(0, max(history.generation, default=1))
        axes.set_yticks([])
    elif result.optimum is not None:
        axes.axhline(result.optimum, color=GREY, ls="--", lw=1, label="optimum")
    axes.set_xlabel("generation")
    if len(history.generation) > LONG_RUN:
        # Most of a long run is a plateau; the climb deserves half of the picture.
        axes.set_xscale("symlog", linthresh=100, linscale=1.5)
        axes.set_xlim(left=0)
    axes.set_ylabel(" / ".join(f"{o.name} ({o.sense})" for o in result.objectives))
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="best")


def draw_front(result: Result, axes: Axes, /) -> None:
    """The estimated non-dominated set of the last generation, at its actual values."""
    points = result.estimated_best.actual
    if points is None:
        axes.text(0.5, 0.5, "actual values are not known here", ha="center", va="center")
        return
    axes.scatter(
        [p[0] for p in points],
        [p[1] for p in points],
        s=18,
        color=BLUE,
        edgecolor="white",
        linewidth=0.4,
        label="estimated to be non-dominated",
    )
    axes.set_xlabel(f"{result.objectives[0].name} ({result.objectives[0].sense})")
    axes.set_ylabel(f"{result.objectives[1].name} ({result.objectives[1].sense})")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
