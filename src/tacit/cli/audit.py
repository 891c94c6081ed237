"""`tacit audit`: what a recorded run gives away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from tacit.audit.report import AuditReport, Measured

EPILOG = """
[bold]Examples[/bold]

tacit solve ap.json --disclose top:15 --generations 299 --record run.record

tacit audit run.record --truth ap.json

tacit audit run.record --truth weights.csv --json --plot leakage.png
"""


def audit_command(
    record: Annotated[
        Path, typer.Argument(metavar="RECORD", help="What 'tacit solve --record' wrote.")
    ],
    truth: Annotated[
        str,
        typer.Option(
            metavar="WEIGHTS",
            help="The secret to compare with: a problem file, a bare .csv or .npy matrix, a .tsp "
            "file, or the name of a shipped instance.",
        ),
    ],
    objective: Annotated[
        str | None, typer.Option(help="Which one, where several are confidential.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw how leakage grows, as PNG, SVG or PDF.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Play the curious platform on a recorded run, and tell how much of the secret it finds."""
    from tacit.audit import audit_record, load_record
    from tacit.audit.plots import plot_growth
    from tacit.audit.truth_file import load_truth
    from tacit.cli.solve import check_writable
    from tacit.runs.plots import check_plot_name

    check_writable(plot)
    if plot is not None:
        check_plot_name(plot)
    recorded = load_record(record)
    place = recorded.objective_named(objective)
    weights, optimum = load_truth(truth, recorded, place)
    report = audit_record(recorded, weights, objective=place, optimum=optimum)
    if plot is not None:
        plot_growth(report, plot)
    if json:
        sys.stdout.buffer.write(report.to_json() + b"\n")
        sys.stdout.flush()
    else:
        show_report(report, Console())


def show_report(report: AuditReport, console: Console, /) -> None:
    """Print one table, and what it comes to."""
    table = Table(
        title=f"{report.problem}: {report.disclosure}, best as {report.best}, "
        f"{report.evaluations} evaluations of {report.candidates} candidates in all"
    )
    for name in ("attack", "by"):
        table.add_column(name)
    for name in ("correlation", "error", "best columns", "own plan, % of best"):
        table.add_column(name, justify="right")
    for name, measured in report.attacks.items():
        table.add_row(name, measured.who, *_cells(measured), style=_style(name, report))
    table.add_section()
    for point in report.growth[:-1]:
        table.add_row(f"after {point.evaluations} evaluations", "platform", *_cells(point.measured))
    table.add_section()
    for how, counted in report.counts.items():
        told = f"{counted.equations:,} equations, {counted.inequations or 0:,} inequations"
        if counted.across_populations:
            told += f", {counted.across_populations:,} across"
        table.add_row(f"counts, {how}", told)
    console.print(table)


def _style(name: str, report: AuditReport) -> str | None:
    return "bold" if name == report.strongest else None


def _cells(measured: Measured) -> list[str]:
    return [
        f"{measured.correlation:.2f}",
        f"{measured.nrmse:.2f}",
        f"{measured.best_columns:.0%}",
        f"{measured.plan_quality:.1f}",
    ]
