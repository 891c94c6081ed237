"""The table that ships with the audit, readable tables, and the study's part of the report.

The whole study takes longer than all runs of the paper's evaluation, so the report has the shipped
tables, and beside them a few runs that are attacked again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

import msgspec

from studies.leakage.results import AttackResult, BoundResult, LeakageResult, Point
from studies.leakage.study import LeakageStudy
from studies.study import Rows
from studies.tables import Block, Cell, ReportTable, plain, write_study
from tacit.audit import Entry, measured_entries
from tacit.disclosure import SEALED, split_disclosure

SHOWN = ("none", "order", "quantiles:5", "top:60", "above:95", "top:15")
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
            tables.append(_families_table(mine, list(families), kind, rows))
    return tables


def _families_table(
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


def bound_table(bounds: Sequence[BoundResult], strongest: Sequence[float], /) -> ReportTable:
    """Attack, mean of the posterior, and limit; `strongest` is the best attack on each same run."""
    rows = tuple(
        plain(
            each.instance, each.disclosure, str(each.evaluations), f"{attack:.2f}",
            f"{each.posterior_mean:.2f}",
            f"{each.limit:.2f}" if not each.violated else "the draws do not fit",
        )
        for each, attack in zip(bounds, strongest, strict=True)
    )  # fmt: skip
    return ReportTable(
        "table-bound",
        "What any attack could reach on independent uniform weights",
        ("instance", "disclosure", "evaluations", "strongest attack", "mean of the posterior",
         "limit"),
        rows,
        "Correlations. The mean of the posterior is over draws that fit all that the bits say. The "
        "limit is computed from the draws without the secret: the highest correlation that any "
        "estimate has on average. The draws are few: the mean is somewhat too low, the limit "
        "somewhat too high.",
    )  # fmt: skip


def write_leakage(study: LeakageStudy, rows: Rows, folder: Path, /) -> None:
    """Write `leakage.json`, `tables.md`, and the plots `privacy.png` and `growth.png`."""
    from studies.leakage.pictures import draw_growth, draw_privacy

    results = [rows[job] for job in study.attacked()]
    tables = leakage_tables(results)
    if bounds := [rows[job] for job in study.bound_jobs()]:
        tables.append(bound_table(bounds, [_reached(results, each) for each in bounds]))
    if attacks := [rows[job] for job in study.attack_jobs()]:
        tables.append(attack_table(attacks))
    content = {"format": "tacit-leakage/2", "entries": leakage_table_entries(results)}
    write_study(folder, "leakage", content, tables)
    draw_privacy(results, folder / "privacy.png")
    draw_growth(results, folder / "growth.png")


def _reached(results: Sequence[LeakageResult], bound: BoundResult) -> float:
    """What the strongest attack reached on the run that a bound is about."""
    return next(
        each.points[-1].honest
        for each in results
        if (each.instance, each.disclosure, each.population)
        == (bound.instance, bound.disclosure, bound.population)
    )


def leakage_blocks(study: LeakageStudy, rows: Rows, /) -> list[Block]:
    """The shipped tables, and what was attacked now beside them."""
    shipped = measured_entries()
    return [
        "Measured by attacking recorded runs: the correlation of the matrix that a curious "
        "platform recovers with the secret one, rows and columns centred, by attackers who know "
        "the structure of the costs that is named as the prior. See docs/leakage.md.",
        again_table(leakage_table_entries([rows[job] for job in study.attacked()]), shipped),
        "The tables that follow are those of the whole study as it ships, which `tacit experiment "
        "leakage` computes.",
        *families_tables(shipped),
        *correlation_tables(shipped),
    ]


def again_table(now: Sequence[Entry], shipped: Sequence[Entry], /) -> ReportTable:
    """Each figure that was measured now, and the shipped one."""
    known = {_key(each): each for each in shipped}
    rows = []
    for each in now:
        informed, before = each.prior_alone > 0, known.get(_key(each))
        told = "" if before is None else raw_and_gain(before.honest, before.honest_gain, informed)
        cells = (f"{each.kind} {each.rows} x {each.columns}", each.family, each.prior,
                 each.disclosure, str(each.evaluations),
                 raw_and_gain(each.honest, each.honest_gain, informed), told)  # fmt: skip
        rows.append(tuple(map(Cell, cells)))
    return ReportTable(
        "table-leakage-again",
        "Attacked again: one short run of each family of costs",
        ("problem", "costs", "prior", "disclosure", "evaluations", "now", "shipped"),
        tuple(rows),
        "Correlation, and in brackets the gain beyond a prior that tells something. The shipped "
        "figures are medians over instances; this is the first of them.",
    )


def _key(entry: Entry) -> tuple[object, ...]:
    return (entry.kind, entry.family, entry.prior, entry.rows, entry.population,
            entry.disclosure, entry.evaluations)  # fmt: skip
