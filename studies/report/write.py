"""Writing the report: Markdown, HTML, pictures, LaTeX on request, and summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.evaluation.time_budget import PAPER_BUDGET, comparison_generations
from studies.pictures import COLOURS, OTHER, draw_fronts, panels_of, set_title
from studies.report.agreement import (
    after_holm,
    assess,
    by_later_rule,
    by_original_rule,
    figures_at,
    scores_by_column,
    spearman_by_rule,
    z_scores,
    z_scores_table,
)
from studies.report.own_engine import EngineTimes, own_engine_blocks
from studies.report.result_tables import (
    all_result_tables,
    budget_table,
    example_table,
    findings_table,
    instances_table,
    leakage_table,
    significance_table,
    significant_wins,
    spearman_table,
)
from studies.report.results import (
    COLUMNS,
    Column,
    ColumnFigures,
    Curves,
    Results,
    published_figures,
)
from studies.report.tuning_tables import tuning_blocks
from studies.report.variants import agreement, control_blocks
from studies.running import versions
from studies.study import write_json, write_whole
from studies.tables import Block, ReportPage, ReportTable
from tacit.disclosure import split_disclosure

PICTURES = {"ap": 2, "tsp": 3, "moap-one gd+": 4, "moap-one igd+": 5, "moap-two gd+": 7,
            "moap-two igd+": 8}  # fmt: skip
FRONTS = {"moap-one": 6, "moap-two": 9}
"""Numbers of the paper's figures."""


@dataclass(frozen=True)
class ReportSummary:
    """The summary of the report, by the original rules; `more` is for `summary.json`."""

    spearman: dict[str, float]
    findings: dict[str, bool]
    more: dict[str, object]


def write_report(
    results: Results,
    out: Path,
    /,
    *,
    about: Sequence[str] = (),
    engine: Sequence[EngineTimes] = (),
    latex: bool = False,
    given_away: Sequence[Block] = (),
    studied: Sequence[Block] = (),
    control: Results | None = None,
    edge_variants: Sequence[Block] = (),
) -> ReportSummary:
    """Write `report.md`, `report.html` and the pictures to `out`."""
    generations = comparison_generations(PAPER_BUDGET)
    figures = figures_at(results, generations)
    pooled = {each.name: results.pooled_figures(each, generations) for each in results.columns()}
    original, later = spearman_by_rule(results, figures, pooled)
    assessed = assess(results, figures, pooled)
    scored = z_scores(figures)
    control_part, control_entry = control_blocks(
        agreement(assessed, scored), results, control, generations
    )
    engine_part, engine_entry = own_engine_blocks(results, engine)
    report = ReportPage("The paper's evaluation, run again")
    report.blocks += [*about, "## Agreement", z_scores_table(scored), *control_part]
    report.blocks += [findings_table(assessed), spearman_table(original, later)]
    report.blocks += [instances_table(figures), significance_table(figures)]
    report.blocks += ["## The disclosures", example_table()]
    report.blocks += ["## Tuning", *tuning_blocks(), *edge_variants]
    report.blocks += ["## Time budget", budget_table(), *engine_part]
    report.blocks += ["## What is given away", leakage_table(results.studies.get("ap"))]
    report.blocks += [*given_away, *studied]
    report.blocks += ["## Results", *all_result_tables(figures, scored)]
    report.blocks += ["## Figures", *draw_all(results, generations, out)]
    write_whole(out / "report.md", report.markdown().encode())
    write_whole(out / "report.html", report.html().encode())
    if latex:
        for block in report.blocks:
            if isinstance(block, ReportTable):
                write_whole(out / "latex" / f"{block.key}.tex", block.latex().encode())
    medians = {
        name: {text: round(spread.median, 2) for text, spread in each.final.items()}
        for name, each in pooled.items()
    }
    more: dict[str, object] = {
        "later_rule": {"spearman": later, "findings": by_later_rule(assessed)},
        "findings_after_holm": after_holm(assessed),
        "significant_wins": significant_wins(figures),
        "z_scores": scores_by_column(scored),
        "control": control_entry or "not run",
        "engine": engine_entry or "not measured",
        "medians": medians,
    }
    return ReportSummary(original, by_original_rule(assessed), more)


def write_summary(out: Path, outcome: ReportSummary, /, *, seconds: float, **more: object) -> None:
    """Write `summary.json`."""
    content = {
        "seconds": round(seconds, 1),
        "spearman": outcome.spearman,
        "findings": outcome.findings,
        **outcome.more,
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
            fronts = results.median_fronts(COLUMNS[f"{study} igd+"], instance)
            draw_fronts(fronts, results.truth(study, instance), out / file)
            caption = f"Figure {number}: estimated non-dominated sets, {study}, instance {instance}"
            drawn.append((number, file, caption))
    return [(file, caption) for _, file, caption in sorted(drawn)]


def draw_convergence(
    column: Column,
    curves: Curves,
    theirs: ColumnFigures,
    generations: Mapping[str, int],
    path: Path,
    /,
) -> None:
    """Every run, the median, and where the paper's medians lie: start, comparison, end."""
    figure, panels = panels_of(list(curves))
    for (disclosure, runs), axes in zip(curves.items(), panels, strict=True):
        method, _ = split_disclosure(disclosure)
        last = runs.shape[1] - 1
        at = np.arange(last + 1)
        axes.plot(at, runs.T, color="#BBBBBB", lw=0.4, rasterized=True)
        axes.plot(at, np.median(runs, axis=0), color=COLOURS.get(method, OTHER), lw=1.8)
        if disclosure in theirs.final:
            compared = min(generations.get(method, last), last)
            marks = [theirs.initial[disclosure], theirs.comparison[disclosure],
                     theirs.final[disclosure]]  # fmt: skip
            axes.plot([0, compared, last], [m.median for m in marks], ls="", marker="D", ms=4.5,
                      mfc="white", mec="black", clip_on=False, zorder=5)  # fmt: skip
        axes.set_title(disclosure, fontsize=9)
    figure.supxlabel("generation", fontsize=9)
    figure.supylabel(column.label, fontsize=9)
    set_title(figure, "thin: single runs, thick: their median, diamonds: the paper's medians")
    figure.savefig(path, dpi=110)
