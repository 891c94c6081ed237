"""Table 2 and related tables: budgets, leakage, findings, rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.disclosure import PAPER_CONFIGURATIONS, Leakage, leakage, split_disclosure
from tacit.experiments.engine_times import EngineTimes
from tacit.experiments.execution.observed_leakage import first_run_with, observed_leakage
from tacit.experiments.execution.time_budget import (
    PAPER_BUDGET,
    PAPER_SECONDS,
    comparison_generations,
)
from tacit.experiments.paper import COLUMNS, published
from tacit.experiments.report.agreement import Assessed, rankings
from tacit.experiments.report.column_figures import ColumnFigures
from tacit.experiments.report.table import Cell, ReportTable, plain
from tacit.experiments.study.study import Study

LEAST_SPEARMAN = {"ap": 0.9, "tsp": 0.9, "moap": 0.85}


def budget_table() -> ReportTable:
    """Table 2: from the paper's evaluation times to comparison generations.

    >>> [cell.text for cell in budget_table().rows[1]]
    ['buckets', '2.45', '54', '54', '5, 10, 20']
    """
    theirs, computed = published()["comparison_generation"], comparison_generations(PAPER_BUDGET)
    rows = []
    for method, seconds in PAPER_SECONDS.items():
        asked = [split_disclosure(disclosure) for disclosure in PAPER_CONFIGURATIONS]
        numbers = sorted(number for name, number in asked if name == method and number)
        rows.append(
            plain(method, f"{seconds}", str(theirs[method]), str(computed[method]),
                  ", ".join(map(str, numbers)) or "-")
        )  # fmt: skip
    return ReportTable(
        "table-02",
        f"Table 2: the paper's evaluation times, a budget of {PAPER_BUDGET.seconds} s",
        (
            "method",
            "s per evaluation",
            "generation (paper)",
            "generation (computed)",
            "configurations",
        ),
        tuple(rows),
    )


def engine_table(measured: Sequence[EngineTimes], /) -> ReportTable:
    """Table 2 again, with the times of our own engine on this machine."""
    header = ["method"]
    for times in measured:
        header += [
            f"{times.latency_ms:g} ms delay: s",
            f"{times.latency_ms:g} ms delay: generation",
        ]
    rows = []
    for method in PAPER_SECONDS:
        cells = [Cell(method)]
        for times in measured:
            seconds = times.by_method().get(method)
            if seconds is None:
                cells += plain("not measured", "")
                continue
            reached = times.generations()[method]
            cells += [Cell(f"{seconds:.4f}"), Cell(str(reached), reached < 500)]
        rows.append(tuple(cells))
    return ReportTable(
        "table-02-engine",
        f"Table 2 on our own engine: the generation reached within {PAPER_BUDGET.seconds} s "
        "(500 is the last)",
        tuple(header),
        tuple(rows),
        "Three processes on this machine, with the given one-way delay between nodes.",
    )


def gain_table(
    figures: Mapping[str, Mapping[str, ColumnFigures]],
    ours: Mapping[str, Mapping[str, ColumnFigures]],
    latency_ms: float,
    /,
) -> ReportTable:
    """Medians within the budget with the paper's engine and with ours."""
    names = list(figures)
    first = {name: next(iter(figures[name])) for name in names}
    rows = []
    for disclosure in figures[names[0]][first[names[0]]].comparison:
        cells = [Cell(disclosure)]
        for name in names:
            digits = 2 if COLUMNS[name].in_percent else 0
            before = figures[name][first[name]].comparison[disclosure].median
            after = ours[name][first[name]].comparison[disclosure].median
            cells += plain(f"{before:,.{digits}f}", f"{after:,.{digits}f}")
        rows.append(tuple(cells))
    return ReportTable(
        "table-gain",
        f"Medians within {PAPER_BUDGET.seconds} s: with the paper's evaluation times, and with our "
        f"engine's at {latency_ms:g} ms delay",
        ("disclosure", *(f"{name}: {whose}" for name in names for whose in ("paper's", "ours"))),
        tuple(rows),
    )


def leakage_table(study: Study | None = None, /) -> ReportTable:
    """Section 3.3: equations and inequations per disclosure; a study gives a run to count in."""
    given = published()["leakage"]
    population, evaluations = given["population"], given["evaluations"]
    rows = []
    for text in PAPER_CONFIGURATIONS:
        found = leakage(text, population=population, evaluations=evaluations)
        counted = ""
        if found.inequations is None and study is not None:
            found = observed_leakage(first_run_with(study, text, evaluations=evaluations))
            counted = "in a run"
        paper = given.get(text, {})
        cells = [Cell(text)]
        for name in Leakage.__dataclass_fields__:
            cells += _counted(getattr(found, name), paper.get(name))
        rows.append((*cells, Cell(counted or "at most")))
    return ReportTable(
        "table-leakage",
        f"Section 3.3: what {evaluations} evaluations of {population} give away",
        ("disclosure", "equations", "paper", "inequations", "paper",
         "inequations across populations", "paper", "counted"),
        tuple(rows),
        "Assuming that no candidate is repeated. The paper has 22,450,000 inequations for order; "
        "300 choose 2 times 500 is 22,425,000. Figures that differ are highlighted. The groups of "
        "buckets and above vary in size, so they are counted in the first run of the AP study; a "
        "best bucket with one candidate identifies the best, each pair of those gives an equation.",
    )  # fmt: skip


def instances_table(figures: Mapping[str, Mapping[str, ColumnFigures]], /) -> ReportTable:
    """The correlation with the paper's ranking, instance by instance."""
    rows = []
    for name, by_instance in figures.items():
        for instance, found in by_instance.items():
            correlations = rankings(found)
            rows.append(plain(name, instance, *(f"{value:.3f}" for value in correlations.values())))
    return ReportTable(
        "table-instances",
        "Spearman's correlation with the paper's ranking, instance by instance",
        ("column", "instance", "summary", "comparison"),
        tuple(rows),
        "Where configurations nearly tie, their order depends on the instance.",
    )


def _counted(count: int | None, paper: int | None) -> list[Cell]:
    shown = "depends on the run" if count is None else f"{count:,}"
    differs = paper is not None and paper != count
    return [Cell(shown, differs), Cell("" if paper is None else f"{paper:,}", differs)]


def spearman_table(correlations: Mapping[str, float], /) -> ReportTable:
    """How our ranking of the configurations correlates with the paper's."""
    rows = []
    for name, value in correlations.items():
        least = LEAST_SPEARMAN[name.partition(" ")[0].partition("-")[0]]
        met = value >= least
        rows.append(
            (*plain(name, f"{value:.3f}", f"{least}"), Cell("yes" if met else "no", not met))
        )
    return ReportTable(
        "table-spearman",
        "Spearman's correlation between our ranking of the configurations and the paper's",
        ("column of medians", "correlation", "wanted", "reached"),
        tuple(rows),
        "Medians over runs, then over instances; for the TSP the paper's own instance.",
    )


def findings_table(assessed: Sequence[Assessed], /) -> ReportTable:
    """Every finding of sections 5.1 to 5.4, yes or no."""
    rows = tuple(
        (
            *plain(each.finding.section, each.finding.text),
            Cell("yes" if each.holds else "no", not each.holds),
            *plain(f"{each.state} of {each.instances}", each.evidence),
        )
        for each in assessed
    )
    return ReportTable(
        "table-findings",
        "The paper's findings on our runs",
        ("section", "finding", "holds", "instances", "figures"),
        rows,
        "A finding holds if it does on the runs of all instances together (TSP: on the paper's own "
        "instance); beside it, the number of instances on which it holds separately.",
    )
