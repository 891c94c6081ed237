"""The study as a section of the report: a table per metric, and what they say."""

from __future__ import annotations

from studies.report.table import Block, Cell, ReportTable
from studies.statistics import ALPHA
from studies.together.figures import Compared, TogetherFigures

ALLOWED = 1.1
"""A median that is at most so many times that without obfuscation counts as no loss."""
CLAIMED = ("pareto:quantiles:20", "pareto:quantiles:5", "pareto:top:60")
INTRODUCTION = (
    "One engine evaluates all objectives together and discloses an order of their Pareto score "
    "(docs/protocols/pareto.md), beside objectives that are evaluated and obfuscated apart, and "
    "beside NSGA-II without obfuscation."
)


def together_blocks(figures: TogetherFigures, /) -> list[Block]:
    """The section, without its pictures."""
    tables = [standing_table(figures, metric) for metric in figures.standings]
    return ["## Several objectives in one evaluation", INTRODUCTION, *tables, verdict(figures)]


def standing_table(figures: TogetherFigures, metric: str, /) -> ReportTable:
    """Median, ratio, tests and effect sizes of each configuration."""
    rows = tuple(
        (
            Cell(name),
            Cell(f"{each.median:,.0f} ({each.iqr:,.0f})"),
            Cell(f"{each.ratio:.2f}"),
            Cell(f"{min(each.ratios):.2f} to {max(each.ratios):.2f}"),
            _compared(each.against_none) if name != "none" else Cell(""),
            _compared(each.against_apart) if each.against_apart is not None else Cell(""),
        )
        for name, each in figures.standings[metric].items()
    )
    return ReportTable(
        f"table-together-{metric.lower().rstrip('+')}",
        f"{metric} at generation {figures.generations}, {len(figures.instances)} instances, "
        f"{figures.seeds} seeds",
        ("configuration", "median (IQR)", "of none", "instance by instance", "against none",
         "against apart"),
        rows,
        "Smaller is better. Of none: the median over that of NSGA-II without obfuscation. Against: "
        "matched-pairs rank-biserial correlation over all instances and seeds, -1 where it is "
        "better in every pair, and p of the two-sided Wilcoxon signed-rank test; highlighted "
        "where significant at 5 %.",
    )  # fmt: skip


def _compared(found: Compared) -> Cell:
    p = "p < 0.001" if found.p < 0.001 else f"p = {found.p:.3f}"
    return Cell(f"{found.correlation + 0.0:.2f}, {p}", found.p < ALPHA)


def verdict(figures: TogetherFigures, /) -> str:
    """Whether the claimed configurations lose nothing."""
    ratios = {
        name: {metric: each[name].ratio for metric, each in figures.standings.items()}
        for name in CLAIMED
    }
    told = "; ".join(
        f"`{name}` " + ", ".join(f"{metric} {ratio:.2f}" for metric, ratio in found.items())
        for name, found in ratios.items()
    )
    most = max(ratio for found in ratios.values() for ratio in found.values())
    holds = "at most" if most <= ALLOWED else "more than"
    return (
        f"Medians over those without obfuscation: {told}. The largest is {most:.2f}, {holds} the "
        f"{ALLOWED} that counts as no loss."
    )
