"""The tables of the study, as docs/equity/tables.md and the report have them."""

from __future__ import annotations

from collections.abc import Sequence

from studies.equity.audit import AuditFigures
from studies.equity.figures import CellFigures, Estimate
from studies.equity.plan import EquityStudy
from studies.report.table import Block, Cell, ReportTable, plain

SWEPT = {
    "levels": "levels up to",
    "decay": "left of a step after one more run, in thousandths",
    "spacing": "spacing of levels, in 128ths of a saved share",
    "airlines": "airlines",
    "ratio": "costs of the last airline over those of the first",
    "moves": "exchanges that there is time for",
}


def equity_blocks(
    study: EquityStudy, figures: Sequence[CellFigures], audits: Sequence[AuditFigures], /
) -> list[Block]:
    """What the report has of the study."""
    return [
        f"Series of {study.runs} runs, means of {study.series} series with standard errors.",
        definition_table(study, figures),
        *(sweep_table(figures, name) for name in SWEPT),
        incentive_table(figures),
        audit_table(audits),
    ]


def definition_table(study: EquityStudy, figures: Sequence[CellFigures], /) -> ReportTable:
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


def sweep_table(figures: Sequence[CellFigures], name: str, /) -> ReportTable:
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


def _shipped(each: CellFigures, name: str) -> str:
    default = type(each.setting)()
    value = getattr(default, name, None)
    return f"{getattr(default.market, name) if value is None else value:g}"


def incentive_table(figures: Sequence[CellFigures], /) -> ReportTable:
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


def _ends(cells: Sequence[CellFigures]) -> tuple[int, int]:
    return 0, max(each.setting.conduct.airline for each in cells)


def _found(cells: Sequence[CellFigures], label: str, airline: int, *, equity: bool) -> CellFigures:
    (found,) = (
        each
        for each in cells
        if (each.label, each.setting.conduct.airline, each.setting.equity)
        == (label, airline, equity)
    )
    return found


def gain(cells: Sequence[CellFigures], label: str, airline: int, /, *, equity: bool) -> float:
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
