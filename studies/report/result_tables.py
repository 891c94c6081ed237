"""The paper's Tables 6 to 14 from our runs, the paper's figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from studies.report.column_figures import ColumnFigures, published_figures
from studies.report.paper import COLUMNS, Column
from studies.report.z_scores import StageScores
from studies.statistics import Spread
from studies.tables import Cell, ReportTable, plain
from tacit.disclosure import split_disclosure

SUMMARIES = {
    "ap": ("table-06-ap", "Table 6, left"),
    "tsp": ("table-06-tsp", "Table 6, right"),
    "moap-one gd+": ("table-09-gd", "Table 9, left"),
    "moap-one igd+": ("table-09-igd", "Table 9, right"),
    "moap-two gd+": ("table-12-gd", "Table 12, left"),
    "moap-two igd+": ("table-12-igd", "Table 12, right"),
}
COMPARISONS = {
    "ap": "07",
    "tsp": "08",
    "moap-one gd+": "10",
    "moap-one igd+": "11",
    "moap-two gd+": "13",
    "moap-two igd+": "14",
}
"""Numbers as in the paper, which has fourteen tables."""

SYMBOLS = {"none": "-", "buckets": "B", "above": "A", "order": "O", "quantiles": "Q", "top": "T"}


def symbol(disclosure: str, /) -> str:
    """The paper's short name of a configuration.

    >>> symbol("buckets:20"), symbol("none"), symbol("tiers:3")
    ('B20', '-', 'tiers:3')
    """
    method, number = split_disclosure(disclosure)
    return f"{SYMBOLS[method]}{number or ''}" if method in SYMBOLS else disclosure


Scores = Mapping[str, Mapping[str, float]]
"""The z-scores of a column, by stage and disclosure."""


def summary_table(
    column: Column, figures: Mapping[str, ColumnFigures], scores: Scores, /
) -> ReportTable:
    """Initial population and last generation of the first instance."""
    instance, ours = next(iter(figures.items()))
    theirs = published_figures(column)
    rows = []
    for disclosure in ours.final:
        cells = [Cell(disclosure)]
        for stage in ("initial", "final"):
            published = getattr(theirs, stage).get(disclosure)
            z = scores.get(stage, {}).get(disclosure)
            cells += beside(column, getattr(ours, stage)[disclosure], published, z)
        rows.append(tuple(cells))
    key, place = SUMMARIES[column.name]
    stages = ("initial population", "last generation")
    return ReportTable(
        key,
        f"{place}: {column.label}, median (IQR), instance {instance}",
        (
            "disclosure",
            *(f"{s}: {w}" for s in stages for w in ("ours", "paper", "diff.", "z")),
        ),
        tuple(rows),
        note_on_instance(column),
    )


def comparison_table(
    column: Column, figures: Mapping[str, ColumnFigures], scores: Scores, /
) -> ReportTable:
    """Comparison generation of the first instance: medians, wins, rank-biserial correlations."""
    instance, ours = next(iter(figures.items()))
    theirs = published_figures(column)
    names = list(ours.comparison)
    corrected = ours.wins_after_holm
    rows = []
    for i, row in enumerate(names):
        cells = [Cell(symbol(row))]
        z = scores.get("comparison", {}).get(row)
        cells += beside(column, ours.comparison[row], theirs.comparison.get(row), z)
        cells += plain(str(ours.wins[row]), str(corrected[row]), str(theirs.wins.get(row, "")))
        for other in names[:-1]:
            if other in names[:i]:
                cells.append(_duel_cell(ours, theirs, row, other))
            else:
                cells.append(Cell(""))
        rows.append(tuple(cells))
    number = COMPARISONS[column.name]
    return ReportTable(
        f"table-{number}",
        f"Table {int(number)}: {column.label}, comparison generation, instance {instance}",
        ("", "ours", "paper", "diff.", "z", "wins", "after Holm", "paper's wins",
         *(symbol(name) for name in names[:-1])),
        tuple(rows),
        "Right of the wins: matched-pairs rank-biserial correlation of the row with the column, "
        "ours / the paper's; highlighted where our two-sided Wilcoxon signed-rank test is "
        "significant at 5 %. "
        + note_on_instance(column),
    )  # fmt: skip


def _duel_cell(ours: ColumnFigures, theirs: ColumnFigures, row: str, other: str) -> Cell:
    mine, published = ours.duels[row, other], theirs.duels.get((row, other))
    beside_it = "" if published is None else f" / {published.correlation:.1f}"
    return Cell(f"{mine.correlation + 0.0:.1f}{beside_it}", mine.significant)


def beside(column: Column, ours: Spread, theirs: Spread | None, z: float | None, /) -> list[Cell]:
    """Ours, the paper's, the difference, and that in standard errors.

    >>> cells = beside(COLUMNS["tsp"], Spread(22000, 500), Spread(22513, 661), -2.61)
    >>> [cell.text for cell in cells]
    ['22,000 (500)', '22,513 (661)', '-513', '-2.6']
    """
    digits = 2 if column.in_percent else 0

    def show(spread: Spread) -> str:
        return f"{spread.median:,.{digits}f} ({spread.iqr:,.{digits}f})"

    if theirs is None:
        return list(plain(show(ours), "", "", ""))
    difference = f"{ours.median - theirs.median:+,.{digits}f}"
    shown = Cell("") if z is None else Cell(f"{z:+.1f}", abs(z) >= 2)
    return [*plain(show(ours), show(theirs), difference), shown]


def note_on_instance(column: Column, /) -> str:
    """The note on comparability."""
    if column.study == "tsp":
        return "The same TSPLIB instance as in the paper. z is highlighted from 2 on."
    return (
        "Our instance is drawn like the paper's, but is another one. z is of all our instances "
        "together and includes the variance between them; it is highlighted from 2 on, and left "
        "out where there is only one instance."
    )


def all_result_tables(
    figures: Mapping[str, Mapping[str, ColumnFigures]], scored: Sequence[StageScores], /
) -> list[ReportTable]:
    """Tables 6 to 14 in the paper's order, as far as their studies are here."""
    tables = []
    for name in figures:
        scores = {each.stage: each.scores for each in scored if each.column.name == name}
        tables.append(summary_table(COLUMNS[name], figures[name], scores))
        tables.append(comparison_table(COLUMNS[name], figures[name], scores))
    return sorted(tables, key=lambda table: (table.key[:8], "igd" in table.key, "tsp" in table.key))
