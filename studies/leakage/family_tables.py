"""Leakage by family of costs: what prior knowledge tells, and what plan and disclosures add."""

from __future__ import annotations

from collections.abc import Sequence

from studies.report.table import Cell, ReportTable
from tacit.audit import Entry
from tacit.disclosure import SEALED

SHOWN = ("none", "order", "quantiles:5", "top:60", "above:95", "top:15")


def raw_and_gain(raw: float | None, gain: float | None, informed: bool, /) -> str:
    """A correlation, and in brackets the gain beyond a prior that tells something.

    >>> raw_and_gain(0.984, 0.947, True), raw_and_gain(0.5, 0.5, False)
    ('0.98 (0.95)', '0.50')
    """
    if raw is None:
        return ""
    return f"{raw:.2f} ({gain:.2f})" if informed and gain is not None else f"{raw:.2f}"


def families_tables(entries: Sequence[Entry], /) -> list[ReportTable]:
    """One table per number of rows at which several families, or a tour's map, were measured."""
    largest = max((each.population for each in entries), default=0)
    chosen = [each for each in entries if each.population == largest]
    tables = []
    for kind, rows in dict.fromkeys((each.kind, each.rows) for each in chosen):
        mine = [each for each in chosen if (each.kind, each.rows) == (kind, rows)]
        families = dict.fromkeys((each.family, each.prior) for each in mine)
        if len(families) > 1 or kind == "tour":
            tables.append(_table(mine, list(families), kind, rows))
    return tables


def _table(
    entries: Sequence[Entry], families: Sequence[tuple[str, str]], kind: str, rows: int
) -> ReportTable:
    last = max(each.evaluations for each in entries)
    lines = []
    for family in families:
        points = [each for each in entries if (each.family, each.prior) == family]
        mine = {each.disclosure: each for each in sorted(points, key=lambda each: each.evaluations)}
        any_one = next(iter(mine.values()))
        informed = any_one.prior_alone > 0
        plan = raw_and_gain(any_one.plan_only, any_one.plan_gain, informed)
        cells = [*family, f"{any_one.prior_alone:.2f}", plan]
        for name in (*SHOWN, SEALED):
            each = mine.get(name)
            raw, gain = (None, None) if each is None else (each.honest, each.honest_gain)
            cells.append(raw_and_gain(raw, gain, informed))
        lines.append(tuple(map(Cell, cells)))
    return ReportTable(
        f"table-families-{kind}-{rows}",
        f"By family of costs: {kind}, {rows} rows, after {last} evaluations",
        ("costs", "prior", "prior alone", "plan only", *SHOWN, SEALED),
        tuple(lines),
        "Correlation of the recovered matrix with the secret one. In brackets, where the prior "
        "alone tells something, the gain: the same of what the prior leaves open.",
    )
