"""Writing the report: Markdown, HTML, pictures, LaTeX on request, and summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.experiments.engine_times import EngineTimes
from tacit.experiments.execution.store import versions, write_json, write_whole
from tacit.experiments.execution.time_budget import PAPER_BUDGET, comparison_generations
from tacit.experiments.report.agreement import AllFigures, assess, rankings, within_spread
from tacit.experiments.report.column_figures import published_figures
from tacit.experiments.report.example_table import example_table
from tacit.experiments.report.other_tables import (
    budget_table,
    engine_table,
    findings_table,
    gain_table,
    instances_table,
    leakage_table,
    spearman_table,
)
from tacit.experiments.report.pictures import draw_convergence, draw_fronts
from tacit.experiments.report.result_tables import all_result_tables
from tacit.experiments.report.results import Results
from tacit.experiments.report.table import Block, ReportPage, ReportTable
from tacit.experiments.report.tuning_tables import tuning_blocks

PICTURES = {"ap": 2, "tsp": 3, "moap-one gd+": 4, "moap-one igd+": 5, "moap-two gd+": 7,
            "moap-two igd+": 8}  # fmt: skip
FRONTS = {"moap-one": 6, "moap-two": 9}
"""Numbers of the paper's figures."""


@dataclass(frozen=True)
class ReportSummary:
    """The summary of the report."""

    spearman: dict[str, float]
    findings: dict[str, bool]
    within_spread: dict[str, float]
    """Per column the share of medians within the spread."""
    medians: dict[str, dict[str, float]]
    """Per column and disclosure the last generation's median, of all runs that count."""


def write_report(
    results: Results,
    out: Path,
    /,
    *,
    about: Sequence[str] = (),
    engine: Sequence[EngineTimes] = (),
    latex: bool = False,
    given_away: Sequence[Block] = (),
    edge_variants: Sequence[Block] = (),
) -> ReportSummary:
    """Write `report.md`, `report.html` and the pictures to `out`."""
    generations = comparison_generations(PAPER_BUDGET)
    figures = figures_at(results, generations)
    pooled = {each.name: results.pooled_figures(each, generations) for each in results.columns()}
    spearman = {name: value for each in pooled.values() for name, value in rankings(each).items()}
    assessed = assess(results, figures, pooled)
    report = ReportPage("The paper's evaluation, run again")
    report.blocks += [*about, "## Agreement", spearman_table(spearman), findings_table(assessed)]
    report.blocks += ["## The disclosures", example_table()]
    report.blocks += ["## Tuning", *tuning_blocks(), *edge_variants]
    report.blocks += ["## Time budget", budget_table(), *_engine_blocks(results, figures, engine)]
    report.blocks += ["## What is given away", leakage_table(results.studies.get("ap"))]
    report.blocks += given_away
    report.blocks += ["## Results", *all_result_tables(figures), instances_table(figures)]
    report.blocks += ["## Figures", *draw_all(results, generations, out)]
    write_whole(out / "report.md", report.markdown().encode())
    write_whole(out / "report.html", report.html().encode())
    if latex:
        for block in report.blocks:
            if isinstance(block, ReportTable):
                write_whole(out / "latex" / f"{block.key}.tex", block.latex().encode())
    holds = {each.finding.name: each.holds for each in assessed}
    medians = {
        name: {text: round(spread.median, 2) for text, spread in each.final.items()}
        for name, each in pooled.items()
    }
    return ReportSummary(spearman, holds, _within(figures), medians)


def figures_at(results: Results, generations: Mapping[str, int], /) -> AllFigures:
    """The figures of every column and instance, compared at these generations."""
    return {
        column.name: {
            instance: results.figures(column, instance, generations)
            for instance in results.instances(column.study)
        }
        for column in results.columns()
    }


def write_summary(out: Path, outcome: ReportSummary, /, *, seconds: float, **more: object) -> None:
    """Write `summary.json`."""
    content = {
        "seconds": round(seconds, 1),
        "spearman": outcome.spearman,
        "findings": outcome.findings,
        "within_spread": outcome.within_spread,
        "medians": outcome.medians,
        **more,
        "versions": versions(),
    }
    write_json(out / "summary.json", content)


def draw_all(
    results: Results, generations: Mapping[str, int], out: Path, /
) -> list[tuple[str, str]]:
    """Draw all convergence and front figures of the first instances; files and captions."""
    (out / "figures").mkdir(parents=True, exist_ok=True)
    drawn: list[tuple[int, str, str]] = []
    for column in results.columns():
        instance, number = results.instances(column.study)[0], PICTURES[column.name]
        file = (
            f"figures/figure-{number:02d}-{column.name.replace(' ', '-').replace('+', '-plus')}.png"
        )
        curves = results.curves(column, instance)
        draw_convergence(column, curves, published_figures(column), generations, out / file)
        drawn.append((number, file, f"Figure {number}: {column.label}, instance {instance}"))
    for study, number in FRONTS.items():
        if study in results.studies:
            instance = results.instances(study)[0]
            file = f"figures/figure-{number:02d}-{study}-fronts.png"
            fronts, truth = results.median_fronts(study, instance), results.truth(study, instance)
            draw_fronts(fronts, truth, out / file)
            caption = f"Figure {number}: estimated non-dominated sets, {study}, instance {instance}"
            drawn.append((number, file, caption))
    return [(file, caption) for _, file, caption in sorted(drawn)]


def _engine_blocks(
    results: Results, figures: AllFigures, engine: Sequence[EngineTimes]
) -> list[str | ReportTable]:
    if not engine:
        return [
            "The second table, with the times of our own engine, was not measured: "
            "`tacit bench engine` is not available here, and no file of times was given."
        ]
    slowest = max(engine, key=lambda times: times.latency_ms)
    ours = figures_at(results, slowest.generations())
    return [engine_table(engine), gain_table(figures, ours, slowest.latency_ms)]


def _within(figures: AllFigures) -> dict[str, float]:
    shares = {}
    for name, by_instance in figures.items():
        ours = next(iter(by_instance.values()))
        theirs = published_figures(ours.column)
        for stage in ("initial", "final", "comparison"):
            agreeing = [
                within_spread(
                    spread,
                    getattr(theirs, stage)[disclosure],
                    [getattr(each, stage)[disclosure].median for each in by_instance.values()],
                )
                for disclosure, spread in getattr(ours, stage).items()
                if disclosure in getattr(theirs, stage)
            ]
            shares[f"{name} {stage}"] = round(sum(agreeing) / len(agreeing), 3) if agreeing else 0.0
    return shares
