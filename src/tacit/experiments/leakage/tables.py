"""The results of the study: the table that ships with the audit, and readable tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from tacit.audit import ATTACKS, Entry
from tacit.experiments.leakage.run_job import AttackResult, LeakageResult
from tacit.experiments.report.table import Cell, ReportTable

Group = tuple[str, int, int, str]
OTHER_ATTACKS = ("known range", "known rows", "next population", "tournaments")


def grouped(results: Iterable[LeakageResult], /) -> dict[Group, list[LeakageResult]]:
    """Runs without mitigation by label, rows, population and disclosure, instances together."""
    groups: dict[Group, list[LeakageResult]] = {}
    for each in results:
        if not each.mitigation:
            key = (each.label, each.rows, each.population, each.disclosure)
            groups.setdefault(key, []).append(each)
    return groups


def leakage_table_entries(results: Sequence[LeakageResult], /) -> list[Entry]:
    """One entry per label, population, disclosure and number of evaluations: medians."""
    entries = []
    for (label, rows, population, disclosure), runs in grouped(results).items():
        for place, point in enumerate(runs[0].points):
            honest = median(each.points[place].honest for each in runs)
            worst = [each.points[place].worst for each in runs]
            entries.append(
                Entry(
                    kind=label,
                    rows=rows,
                    population=population,
                    disclosure=disclosure,
                    evaluations=point.evaluations,
                    honest=round(honest, 4),
                    worst=_worst(honest, [each for each in worst if each is not None]),
                    plan_only=round(median(each.plan_only for each in runs), 4),
                    gap_percent=round(median(each.gap_percent for each in runs), 3),
                )
            )
    return entries


def _worst(honest: float, asked: list[float]) -> float | None:
    """At least the leakage of the agreed search, which may be measured on more instances."""
    return round(max(median(asked), honest), 4) if asked else None


def leakage_tables(results: Sequence[LeakageResult], /) -> list[ReportTable]:
    """A table per kind of problem and population, and one of the mitigations."""
    tables, mitigated = correlation_tables(leakage_table_entries(results)), _mitigations(results)
    return tables if mitigated is None else [*tables, mitigated]


def correlation_tables(entries: Sequence[Entry], /) -> list[ReportTable]:
    """A table per kind of problem, number of rows and population."""
    groups: dict[tuple[str, int, int], list[Entry]] = {}
    for each in entries:
        groups.setdefault((each.kind, each.rows, each.population), []).append(each)
    return [_correlation_table(group) for group in groups.values()]


def _correlation_table(entries: Sequence[Entry]) -> ReportTable:
    """What was recovered after each number of evaluations, one row per disclosure."""
    counts, first = sorted({each.evaluations for each in entries}), entries[0]
    rows = []
    for disclosure in dict.fromkeys(each.disclosure for each in entries):
        mine = sorted(
            (each for each in entries if each.disclosure == disclosure),
            key=lambda each: each.evaluations,
        )
        worst = mine[-1].worst
        correlations = [f"{each.honest:.2f}" for each in mine]
        correlations += ["" if worst is None else f"{worst:.2f}", f"{mine[-1].plan_only:.2f}"]
        rows.append(tuple(map(Cell, (disclosure, *correlations, f"{mine[-1].gap_percent:.1f} %"))))
    return ReportTable(
        f"table-leakage-{first.kind}-{first.rows}-{first.population}",
        f"Correlation of the recovered matrix: {first.kind} {first.rows} x {first.rows}, "
        f"{first.population} candidates per evaluation",
        ("disclosure", *(f"after {count}" for count in counts), f"worst case after {counts[-1]}",
         "plan only", "gap to the optimum"),
        tuple(rows),
    )  # fmt: skip


def _mitigations(results: Sequence[LeakageResult]) -> ReportTable | None:
    groups: dict[tuple[str, str], list[LeakageResult]] = {}
    for each in results:
        if each.mitigation:
            groups.setdefault((each.disclosure, each.mitigation), []).append(each)
    if not groups:
        return None
    rows = []
    for (disclosure, mitigation), runs in groups.items():
        last = [each.points[-1] for each in runs]
        row = (
            disclosure,
            mitigation,
            median_and_range([each.honest for each in last], ".2f"),
            f"{median(each.nrmse for each in last):.2f}",
            f"{median(each.plan_quality for each in last):.1f} %",
            median_and_range([each.gap_percent for each in runs], ".1f") + " %",
        )
        rows.append(tuple(map(Cell, row)))
    runs = next(iter(groups.values()))
    return ReportTable(
        "table-mitigations",
        f"Mitigations, after {runs[0].points[-1].evaluations} evaluations",
        ("disclosure", "mitigation", "correlation", "error", "attacker's plan",
         "gap to the optimum"),
        tuple(rows),
        f"Medians of runs from {len(runs)} seeds; in brackets the lowest and the highest.",
    )  # fmt: skip


def median_and_range(values: Sequence[float], form: str, /) -> str:
    """The median, and where there are several values the lowest and the highest.

    >>> median_and_range([0.5, 0.25, 1.0], ".2f"), median_and_range([0.5], ".2f")
    ('0.50 (0.25 to 1.00)', '0.50')
    """
    middle = f"{median(values):{form}}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):{form}} to {max(values):{form}})"


def attack_table(results: Sequence[AttackResult], /) -> ReportTable:
    """Every attack under some disclosures: the correlation that it reaches."""
    tried = {name for each in results for name in each.attacks}
    names = [name for name in (*ATTACKS, *OTHER_ATTACKS) if name in tried]
    rows = []
    for name in names:
        found = [each.attacks.get(name) for each in results]
        who = next(measured.who for measured in found if measured is not None)
        correlations = ["" if each is None else f"{each.correlation:.2f}" for each in found]
        rows.append(tuple(map(Cell, (name, who, *correlations))))
    return ReportTable(
        "table-attacks",
        "Every attack on one run",
        ("attack", "by", *(each.disclosure for each in results)),
        tuple(rows),
        "Empty where an attack does not apply. Known rows: correlation over the other rows.",
    )
