"""The plot of the study: spread against total cost, and spread over what is varied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studies.equity.figures import CellFigures
from studies.equity.plan import EquityStudy
from studies.equity.tables import SWEPT
from studies.report.pictures import empty_figure

CURVES = {"levels": ("#0072B2", "o"), "decay": ("#D55E00", "s"), "spacing": ("#009E73", "^")}
PANELS = ("airlines", "ratio", "moves")
WITHOUT, WITH = "#777777", "#0072B2"


def draw_equity(study: EquityStudy, figures: Sequence[CellFigures], path: Path, /) -> None:
    """A curve for each of the rule's numbers, and a panel for each number of the market."""
    figure = empty_figure(13, 3.8)
    first, *others = figure.subplots(1, 1 + len(PANELS))
    for name, (colour, marker) in CURVES.items():
        cells = [each for each in figures if each.group == name]
        first.errorbar([each.excess.mean for each in cells], [each.spread.mean for each in cells],
                       xerr=[each.excess.error for each in cells],
                       yerr=[each.spread.error for each in cells],
                       color=colour, marker=marker, ms=4, lw=1, elinewidth=0.6,
                       label=name)  # fmt: skip
        if name == "levels":
            for each in cells:
                first.annotate(each.label, (each.excess.mean, each.spread.mean), fontsize=7,
                               xytext=(3, 4), textcoords="offset points")  # fmt: skip
    for _, spread, cost in study.first.spreads:
        first.plot([cost], [spread], ls="", marker="D", mfc="white", mec="black", ms=5)
    first.set(xlabel="higher total cost, %", ylabel="spread of saved shares")
    first.legend(fontsize=7)
    for axes, name in zip(others, PANELS, strict=True):
        for equity, colour in ((False, WITHOUT), (True, WITH)):
            cells = [e for e in figures if e.group == name and e.setting.equity == equity]
            axes.errorbar([float(each.label) for each in cells],
                          [each.spread.mean for each in cells],
                          yerr=[each.spread.error for each in cells], color=colour, marker="o",
                          ms=4, lw=1, label="with equity" if equity else "without")  # fmt: skip
        axes.set(xlabel=SWEPT[name], ylim=(0, None))
        if name == "moves":
            axes.set_xscale("log")
    others[0].legend(fontsize=7)
    for axes in (first, *others):
        axes.xaxis.label.set_fontsize(8)
        axes.grid(alpha=0.25)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
