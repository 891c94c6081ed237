"""The plot of the ablation: the gap to the optimum against time, a panel per problem and delay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studies.ablation.figures import LEAST_GAP, CellFigures
from studies.ablation.plan import AblationStudy
from studies.report.pictures import COLOURS, OTHER, empty_figure
from tacit.disclosure import SEALED, split_disclosure

LINES = {"genetic": ("--", "s"), "annealing": ("-", "o"), "greedy": (":", "x")}
"""Style and marker by algorithm; colours tell disclosures apart."""
APART = 0.04
"""Cells lie beside each other, so that their quartiles can be seen."""


def draw_gaps(study: AblationStudy, figures: Sequence[CellFigures], path: Path, /) -> None:
    """Medians with quartiles on logarithmic axes."""
    instances = list(dict.fromkeys(each.instance for each in figures))
    delays = [clock.latency_ms for clock in study.clocks]
    budgets = {clock.latency_ms: clock.budgets for clock in study.clocks}
    figure = empty_figure(4.2 * len(instances), 3.6 * len(delays) + 0.6)
    panels = figure.subplots(len(delays), len(instances), squeeze=False)
    for line, delay in zip(panels, delays, strict=True):
        for axes, instance in zip(line, instances, strict=True):
            for place, (algorithm, disclosure) in enumerate(study.columns()):
                mine = [
                    each
                    for each in figures
                    if (each.instance, each.latency_ms) == (instance, delay)
                    and (each.algorithm, each.disclosure) == (algorithm, disclosure)
                ]
                method = SEALED if disclosure == SEALED else split_disclosure(disclosure)[0]
                style, marker = LINES[algorithm]
                middle = [max(each.median, LEAST_GAP) for each in mine]
                below = [m - max(e.lower, LEAST_GAP) for m, e in zip(middle, mine, strict=True)]
                above = [max(e.upper, m) - m for m, e in zip(middle, mine, strict=True)]
                shift = (1 + APART) ** (place - len(study.columns()) / 2)
                axes.errorbar([each.seconds * shift for each in mine], middle,
                              yerr=[below, above], color=COLOURS.get(method, OTHER), ls=style,
                              marker=marker, ms=4, lw=1.2, elinewidth=0.7,
                              label=f"{algorithm}, {disclosure}")  # fmt: skip
            axes.set(xscale="log", yscale="log", xlabel="seconds",
                     title=f"{instance}, {delay:g} ms")  # fmt: skip
            axes.set_xticks(budgets[delay], [f"{seconds:g}" for seconds in budgets[delay]])
            axes.minorticks_off()
            axes.yaxis.set_major_formatter("{x:g}")
            axes.grid(alpha=0.25)
        line[0].set_ylabel("gap to the optimum, %")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
