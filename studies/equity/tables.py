"""The tables and the plot of the study, as docs/equity has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from studies.equity.figures import AuditFigures, EquityFigures, Estimate, audit, figures_of
from studies.equity.study import EquityStudy
from studies.pictures import empty_figure
from studies.study import Rows
from studies.tables import Block, Cell, ReportTable, plain, write_study

SWEPT = {
    "levels": "levels up to",
    "decay": "left of a step after one more run, in thousandths",
    "spacing": "spacing of levels, in 128ths of a saved share",
    "airlines": "airlines",
    "ratio": "costs of the last airline over those of the first",
    "moves": "exchanges that there is time for",
}


def equity_blocks(
    study: EquityStudy, figures: Sequence[EquityFigures], audits: Sequence[AuditFigures], /
) -> list[Block]:
    """What the report has of the study."""
    return [
        f"Series of {study.runs} runs, means of {study.series} series with standard errors.",
        definition_table(study, figures),
        *(sweep_table(figures, name) for name in SWEPT),
        incentive_table(figures),
        audit_table(audits),
    ]


def definition_table(study: EquityStudy, figures: Sequence[EquityFigures], /) -> ReportTable:
    """Both definitions of the saved share, beside the first study."""
    before = {"without equity": f"{study.first.highest - study.first.lowest:.2f} at 0 %"}
    for levels, spread, cost in study.first.spreads:
        before |= {f"{levels}, decay 1000": f"{spread:.2f} at {cost:g} %"}
    rows = []
    for each in figures:
        group, _, definition = each.group.partition(": ")
        if group == "definition":
            first = before.get(each.label, "") if definition == "plain" else ""
            rows.append(plain(definition, each.label, shares(each.saved), plus_minus(each.spread),
                              plus_minus(each.spread_of_possible), percent(each.excess),
                              first))  # fmt: skip
    return ReportTable(
        "table-equity-definitions",
        "Equity by the plain saved share, and with the least costs of rows subtracted",
        ("equity by", "levels", "saved by each airline", "spread",
         "spread of what could be saved", "higher total cost", "first study"),
        tuple(rows),
        "Saved: of the cost under first come, first served, the airline with the lowest costs "
        "first. Spread: the largest saved share minus the smallest.",
    )  # fmt: skip


def sweep_table(figures: Sequence[EquityFigures], name: str, /) -> ReportTable:
    """Spread and cost over one thing that is varied; the shipped setting is marked."""
    cells = [each for each in figures if each.group == name]
    without = {each.label: each for each in cells if not each.setting.equity}
    rows = []
    for each in cells:
        if each.setting.equity:
            beside = without.get(each.label)
            marked = each.label == _shipped(each, name)
            row = plain(*([plus_minus(beside.spread)] if beside else []),
                        plus_minus(each.spread), plus_minus(each.spread_of_possible),
                        *([percent(beside.excess)] if beside else []),
                        percent(each.excess))  # fmt: skip
            rows.append((Cell(each.label, marked), *row))
    header: tuple[str, ...] = ("spread", "spread of what could be saved", "higher total cost")
    if without:
        header = ("spread without equity", "spread with it", header[1],
                  "higher total cost without equity", "higher total cost with it")  # fmt: skip
    title = f"Spread and total cost: {SWEPT[name]}"
    return ReportTable(f"table-equity-{name}", title, (SWEPT[name], *header), tuple(rows))


def _shipped(each: EquityFigures, name: str) -> str:
    default = type(each.setting)()
    value = getattr(default, name, None)
    return f"{getattr(default.market, name) if value is None else value:g}"


def incentive_table(figures: Sequence[EquityFigures], /) -> ReportTable:
    """What an airline gains by what it does, for the cheapest and the dearest airline."""
    rows = []
    for name, label in dict.fromkeys(
        (e.group, e.label) for e in figures if "incentives" in e.group
    ):
        cells = [each for each in figures if each.group == name]
        gains = [gain(cells, label, airline, equity=equity)
                 for equity in (False, True) for airline in _ends(cells)]  # fmt: skip
        own = [_found(cells, label, airline, equity=True) for airline in _ends(cells)]
        told = [f"{each:+.2f}" for each in gains] + [percent(each.excess) for each in own]
        rows.append(plain(label + name.removeprefix("incentives"), *told))
    return ReportTable(
        "table-equity-incentives",
        "What an airline gains in truth, as a share of its cost under the reference",
        ("the airline", "one run, cheapest", "one run, dearest", "series with equity, cheapest",
         "series with equity, dearest", "higher total cost, cheapest", "dearest"),
        tuple(rows),
        "Against stating its costs under the same rule and in the same runs. One run: without "
        "equity, where runs do not depend on each other.",
    )  # fmt: skip


def _ends(cells: Sequence[EquityFigures]) -> tuple[int, int]:
    return 0, max(each.setting.conduct.airline for each in cells)


def _found(
    cells: Sequence[EquityFigures], label: str, airline: int, *, equity: bool
) -> EquityFigures:
    (found,) = (
        each
        for each in cells
        if (each.label, each.setting.conduct.airline, each.setting.equity)
        == (label, airline, equity)
    )
    return found


def gain(cells: Sequence[EquityFigures], label: str, airline: int, /, *, equity: bool) -> float:
    """What a conduct saves an airline more than the truth does."""
    (truth,) = {each.label for each in cells if each.setting.conduct.kind == "truth"}
    did = _found(cells, label, airline, equity=equity).own.mean
    return did - _found(cells, truth, airline, equity=equity).own.mean


def audit_table(audits: Sequence[AuditFigures], /) -> ReportTable:
    """What the plans tell about levels."""
    rows = [
        plain(each.label, *(f"{value:+.2f}" for value in (
            each.one_run, each.window, each.twin, each.within, each.trained, each.standing)),
            f"{100 * each.exact:.0f} %")
        for each in audits
    ]  # fmt: skip
    return ReportTable(
        "table-equity-audit",
        "What opened plans tell of levels: correlations with the true ones",
        ("", "one run, within an airline", "ten runs", "twin with equal costs",
         "twin, within an airline", "trained fit", "who is ahead in general", "fit is exact"),
        tuple(rows),
        "Without equity the levels are those that would follow and are not applied: what the "
        "plans tell anyway.",
    )  # fmt: skip


def shares(values: Sequence[float], /) -> str:
    """Shares in one cell.

    >>> shares([0.214, 0.5])
    '0.21, 0.50'
    """
    return ", ".join(f"{value:.2f}" for value in values)


def plus_minus(value: Estimate, /) -> str:
    """A mean with its standard error.

    >>> plus_minus(Estimate(0.2584, 0.0049))
    '0.258 ± 0.005'
    """
    return f"{value.mean:.3f} ± {value.error:.3f}"


def percent(value: Estimate, /) -> str:
    """A mean of percents with its standard error.

    >>> percent(Estimate(3.21, 0.1))
    '3.2 ± 0.1 %'
    """
    return f"{value.mean:.1f} ± {value.error:.1f} %"


CURVES = {"levels": ("#0072B2", "o"), "decay": ("#D55E00", "s"), "spacing": ("#009E73", "^")}
PANELS = ("airlines", "ratio", "moves")
WITHOUT, WITH = "#777777", "#0072B2"


def draw_equity(study: EquityStudy, figures: Sequence[EquityFigures], path: Path, /) -> None:
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


def write_equity(study: EquityStudy, rows: Rows, folder: Path, /) -> None:
    """Write `equity.json`, `tables.md` and the plot."""
    figures = [
        figures_of(cell, [rows[job] for job in study.jobs_of(cell)]) for cell in study.cells()
    ]
    audits = [audit(cell, [rows[job] for job in study.jobs_of(cell)]) for cell in study.audited()]
    content = {"format": "tacit-equity/1", "cells": figures, "audits": audits}
    write_study(folder, "equity", content, equity_blocks(study, figures, audits), title=study.title)
    draw_equity(study, figures, folder / "spread.png")
