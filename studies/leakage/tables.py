"""The results of the study: the table that ships with the audit, and readable tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import msgspec

from studies.leakage.family_tables import families_tables, raw_and_gain
from studies.leakage.results import LeakageResult, Point
from studies.leakage.run_job import AttackResult
from studies.report.table import Cell, ReportTable
from tacit.audit import Entry
from tacit.disclosure import split_disclosure

Group = tuple[str, str, str, int, int, str]
CONTAINED = {
    "none": ("order", "quantiles", "buckets", "top", "above"),
    "order": ("quantiles", "top"),
}
"""What else follows from what a disclosure shows."""


def grouped(results: Iterable[LeakageResult], /) -> dict[Group, list[LeakageResult]]:
    """Runs without mitigation by label, family, prior, rows, population and disclosure."""
    groups: dict[Group, list[LeakageResult]] = {}
    for each in results:
        if not each.mitigation:
            key = (each.label, each.family, each.prior, each.rows, each.population, each.disclosure)
            groups.setdefault(key, []).append(each)
    return groups


def leakage_table_entries(results: Sequence[LeakageResult], /) -> list[Entry]:
    """One entry per group and number of evaluations: medians over instances."""
    entries = []
    for (label, family, prior, rows, population, disclosure), runs in grouped(results).items():
        for place, point in enumerate(runs[0].points):
            points = [each.points[place] for each in runs]
            honest, gain = (_median(points, name) for name in ("honest", "honest_gain"))
            worst, worst_gain = (_median(points, name) for name in ("worst", "worst_gain"))
            entries.append(
                Entry(
                    kind=label,
                    family=family,
                    prior=prior,
                    rows=rows,
                    columns=runs[0].columns,
                    population=population,
                    disclosure=disclosure,
                    evaluations=point.evaluations,
                    prior_alone=_median(runs, "prior_alone") or 0.0,
                    plan_only=_median(runs, "plan_only") or 0.0,
                    plan_gain=_median(runs, "plan_gain") or 0.0,
                    honest=honest or 0.0,
                    honest_gain=gain or 0.0,
                    worst=_at_least(worst, honest),
                    worst_gain=_at_least(worst_gain, gain),
                    gap_percent=round(median(each.gap_percent for each in runs), 3),
                    of_sum=_median(points, "of_sum"),
                )
            )
    return [_at_least_what_it_contains(each, entries) for each in entries]


def _at_least_what_it_contains(entry: Entry, entries: Sequence[Entry]) -> Entry:
    """Where the attacks on more find less than those on a part of it, what these find stands.

    Values contain ranks and groups, ranks contain groups by rank.
    """
    contained = CONTAINED.get(entry.disclosure, ())
    alike = [
        each
        for each in entries
        if split_disclosure(each.disclosure)[0] in contained and _same_runs(each, entry)
    ]
    most = max([entry, *alike], key=lambda each: each.honest)
    told = {"honest": most.honest, "honest_gain": most.honest_gain}
    asked = [each for each in (entry, *alike) if each.worst is not None]
    if entry.worst is not None:
        worst = max(asked, key=lambda each: each.worst or 0.0)
        told |= {"worst": worst.worst or 0.0, "worst_gain": worst.worst_gain or 0.0}
    return msgspec.structs.replace(entry, **told)


def _same_runs(one: Entry, other: Entry) -> bool:
    """Whether two entries differ by the disclosure alone."""
    names = ("kind", "family", "prior", "rows", "columns", "population", "evaluations")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _median(measured: Sequence[LeakageResult] | Sequence[Point], name: str) -> float | None:
    """Of those that were measured."""
    values = [getattr(each, name) for each in measured]
    known = [value for value in values if value is not None]
    return round(median(known), 4) if known else None


def _at_least(worst: float | None, honest: float | None) -> float | None:
    """At least that of the agreed search, which may be measured on more instances."""
    return worst if worst is None or honest is None else max(worst, honest)


def leakage_tables(results: Sequence[LeakageResult], /) -> list[ReportTable]:
    """Families of costs side by side, a table per kind and population, and the mitigations."""
    entries, mitigated = leakage_table_entries(results), _mitigations(results)
    tables = [*families_tables(entries), *correlation_tables(entries)]
    return tables if mitigated is None else [*tables, mitigated]


def correlation_tables(entries: Sequence[Entry], /) -> list[ReportTable]:
    """A table per kind of problem, family of costs, number of rows and population."""
    groups: dict[tuple[str, str, str, int, int], list[Entry]] = {}
    for each in entries:
        key = (each.kind, each.family, each.prior, each.rows, each.population)
        groups.setdefault(key, []).append(each)
    return [_correlation_table(group) for group in groups.values()]


def _correlation_table(entries: Sequence[Entry]) -> ReportTable:
    """What was recovered after each number of evaluations, one row per disclosure."""
    counts, first = sorted({each.evaluations for each in entries}), entries[0]
    informed = first.prior_alone > 0
    rows = []
    for disclosure in dict.fromkeys(each.disclosure for each in entries):
        mine = sorted(
            (each for each in entries if each.disclosure == disclosure),
            key=lambda each: each.evaluations,
        )
        last = mine[-1]
        cells = [raw_and_gain(each.honest, each.honest_gain, informed) for each in mine]
        cells += [raw_and_gain(last.worst, last.worst_gain, informed),
                  raw_and_gain(last.plan_only, last.plan_gain, informed)]  # fmt: skip
        rows.append(tuple(map(Cell, (disclosure, *cells, f"{last.gap_percent:.1f} %"))))
    known = f"; {first.prior} known, which alone tells {first.prior_alone:.2f}" * informed
    return ReportTable(
        f"table-leakage-{first.kind}-{first.family}-{first.prior}-{first.rows}-{first.population}"
        .replace(" ", "-"),
        f"Correlation of the recovered matrix: {first.kind} {first.rows} x {first.columns}, costs "
        f"{first.family}, prior {first.prior}, {first.population} candidates per evaluation",
        ("disclosure", *(f"after {count}" for count in counts), f"worst case after {counts[-1]}",
         "plan only", "gap to the optimum"),
        tuple(rows),
        f"In brackets the gain beyond the prior{known}." if informed else "",
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
    """Every attack on one run each: the correlation that it reaches."""
    names = list(dict.fromkeys(name for each in results for name in each.attacks))
    rows = []
    for name in names:
        found = [each.attacks.get(name) for each in results]
        who = next(measured.who for measured in found if measured is not None)
        correlations = ["" if each is None else f"{each.correlation:.2f}" for each in found]
        rows.append(tuple(map(Cell, (name, who, *correlations))))
    return ReportTable(
        "table-attacks",
        "Every attack on one run",
        ("attack", "by", *(f"{each.family} {each.disclosure}" for each in results)),
        tuple(rows),
        "Empty where an attack does not apply. Known rows: correlation over the other rows.",
    )
