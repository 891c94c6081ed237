"""The study in two pictures: the spread of both metrics, and fronts of median runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from studies.paper import Column
from studies.report.label_placement import set_title
from studies.report.pictures import COLOURS, OTHER, draw_fronts, empty_figure
from studies.report.results import Results
from studies.together.figures import APART, COMPARED, METRICS, TOGETHER, last_values
from tacit.disclosure import split_disclosure


def draw_spread(results: Results, path: Path, /) -> None:
    """A box per configuration and metric, over all instances and seeds."""
    figure = empty_figure(10, 4.8)
    panels = figure.subplots(1, len(METRICS), sharey=True)
    for metric, axes in zip(METRICS, panels, strict=True):
        values = last_values(results, metric)
        names = list(values)
        drawn = axes.boxplot(
            [np.concatenate(values[name]) for name in names],
            patch_artist=True,
            showfliers=False,
            widths=0.6,
        )
        for name, box in zip(names, drawn["boxes"], strict=True):
            method, _ = split_disclosure(name.removeprefix("pareto:"))
            box.set_facecolor(COLOURS.get(method, OTHER) if name != "none" else "#FFFFFF")
            box.set_alpha(0.7)
        axes.set_xticks(range(1, len(names) + 1), names, fontsize=8, rotation=60, ha="right")
        axes.set(yscale="log", title=metric)
        axes.grid(alpha=0.25)
    set_title(figure, "boxes: quartiles over all instances and seeds; smaller is better")
    figure.savefig(path, dpi=110)


def draw_median_fronts(results: Results, path: Path, /) -> None:
    """The last sets of the runs with the median IGD+ on the first instance."""
    instance = results.instances(TOGETHER)[0]
    fronts: dict[str, NDArray[np.float64]] = {}
    for study in (APART, TOGETHER):
        column = Column(f"{study} igd+", study, METRICS["IGD+"], "")
        found = results.median_fronts(column, instance)
        fronts |= {n: each for n, each in found.items() if study == TOGETHER or n in COMPARED}
    draw_fronts(fronts, results.truth(TOGETHER, instance), path)
