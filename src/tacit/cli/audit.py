"""`tacit audit`: measure how much a recorded run gives away."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from tacit.cli.printing import terminal
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.audit import AuditReport, Measured, Record

ZIP = b"PK"
UNFAITHFUL = "unfaithful platform"
WHO = {"platform and participant": "with participant", UNFAITHFUL: "breaks agreement"}
"""Short enough for a narrow terminal."""
LEGEND = """correlation: of the recovered weights with the secret ones; 0 is nothing, 1 everything
gain: the same of what the prior alone leaves open
error: of the recovered weights; 1 is what knowing nothing gives, 0 is none
best columns: share of rows whose most valuable column was found
attacker's plan: the value of the plan that the attacker computes, in percent of the best"""
EPILOG = """
[bold]Examples[/bold]

tacit solve ap.json --disclose top:15 --generations 299 --record run.record

tacit audit run.record --truth ap.json

tacit audit run.record --truth weights.csv --json --plot leakage.png

tacit audit run.zip --truth ap.json

tacit audit run.record --truth ap.json --last-week ap-last-week.json
"""


def audit_command(
    record: Annotated[
        Path,
        typer.Argument(
            metavar="RECORD", help="What 'tacit solve --record' or 'tacit run bundle' wrote."
        ),
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
        str | None, typer.Option(help="Objective, if several are confidential.")
    ] = None,
    last_week: Annotated[
        str | None,
        typer.Option(
            metavar="WEIGHTS",
            help="Weights that became known before, such as last week's; attackers use them.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw how leakage grows, as PNG, SVG or PDF.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Play the curious platform on a recorded run, and report how much of the secret it finds."""
    from tacit.audit import (
        audit_record,
        last_week_of,
        load_truth,
        plot_growth,
        priors_that_fit,
    )
    from tacit.cli.printing import check_writable
    from tacit.runs import check_plot_name

    # Before the audit, which takes a minute: a typo in a path must not cost it.
    check_writable(plot)
    if plot is not None:
        check_plot_name(plot)
    recorded = _recorded(record)
    place = recorded.objective_named(objective)
    weights, optimum = load_truth(truth, recorded, place)
    priors = priors_that_fit(recorded.problem)
    if last_week is not None:
        earlier, _ = load_truth(last_week, recorded, place, earlier=True)
        # An attacker would have to guess how much costs change. It gets the true spread, so that
        # the figure is not too low.
        priors.insert(0, last_week_of(earlier, float((weights - earlier).std())))
    report = audit_record(recorded, weights, objective=place, optimum=optimum, priors=priors)
    if plot is not None:
        plot_growth(report, plot)
    if json:
        # Bytes: JSON is UTF-8, whatever encoding the terminal has.
        sys.stdout.buffer.write(report.to_json() + b"\n")
        sys.stdout.flush()
    else:
        show_report(report, terminal())


def _recorded(path: Path) -> Record:
    """A record as it was written, or made from an audit bundle."""
    from tacit.audit import load_record
    from tacit.files import read_bytes

    content = read_bytes(path)
    return _of_bundle(content) if content.startswith(ZIP) else load_record(path)


def _of_bundle(content: bytes) -> Record:
    """Return the record of a bundle, which is checked first."""
    import numpy as np

    from tacit.agreement import read_agreement
    from tacit.audit import record_of_agreed
    from tacit.errors import UnprovenError
    from tacit.verify import Verdict, bundled_logs, check_bundle, claim_of, read_bundle

    # Checked first: a bundle with evaluations cut out would show too little leakage.
    bundle = read_bundle(content)
    try:
        check_bundle(bundle).check()
    # Unproven is not forged: the last answer of a run may lack its proof (docs/threat-model.md).
    except UnprovenError as error:
        typer.echo(plain_line(f"Note: {error}"), err=True)
    agreement = read_agreement(bundle.agreement)
    log, *_ = bundled_logs(bundle, agreement, Verdict(bundle.run, bundle.state))
    public = {k: np.array(rows, dtype=np.int64) for k, rows in bundle.public.items()}
    return record_of_agreed(agreement, log, bundle.ledger, claim_of(bundle).plan, public=public)


def show_report(report: AuditReport, console: Console, /) -> None:
    """Print one table, with a summary below it."""
    table = Table(title=_title(report), caption=_caption(report), caption_justify="left")
    for name in ("attack", "by whom"):
        table.add_column(name)
    for name in ("correlation", "gain", "error", "best columns", "attacker's plan"):
        table.add_column(name, justify="right")
    for name, measured in report.attacks.items():
        table.add_row(name, WHO.get(measured.who, measured.who), *_cells(measured),
                      style=_style(name, report))  # fmt: skip
    console.print(table)


def _title(report: AuditReport) -> str:
    if not report.evaluations:
        return f"{report.problem}: {report.disclosure}, no evaluation was disclosed"
    return (
        f"{report.problem}: {report.disclosure}, {report.evaluations:,} evaluations, "
        f"{report.candidates:,} candidates"
    )


def _caption(report: AuditReport) -> str:
    lines = [_verdict(report), LEGEND]
    if report.growth[:-1]:
        lines.append("first n: the strongest of the main attacks on the first n evaluations")
    for how, counted in report.counts.items():
        counts = f"{counted.equations:,} equations, {counted.inequations or 0:,} inequations"
        if counted.across_populations:
            counts += f", {counted.across_populations:,} across populations"
        lines.append(f"could be written down, {how}: {counts}")
    return "\n".join(lines)


def _verdict(report: AuditReport) -> str:
    from tacit.audit import BASELINE, NO_PLAN, PRIOR, how_much

    baseline = report.attacks.get(BASELINE) or report.attacks[NO_PLAN]
    prior = report.attacks[PRIOR]
    before = ""
    if prior.correlation > 0:
        before = (
            f"Whoever knows {report.prior_says} can guess {prior.correlation:.2f} of 1 before the "
            "run. Beyond that, in gains: "
        )
    plan = baseline.gain if before else baseline.correlation
    if report.strongest == NO_PLAN:
        return (
            f"{before}The plan was opened to its owners alone; the platform learned {plan:.2f} "
            "of 1."
        )
    if report.strongest == BASELINE:
        return f"{before}Nothing but the plan was disclosed; it tells {plan:.2f} of 1, and no more."
    headline = report.gain if before else report.correlation
    # The worst of all queries that a platform could make, as nobody knows which it would choose.
    unfaithful = [each for each in report.attacks.values() if each.who == UNFAITHFUL]
    strongest = max(unfaithful, key=lambda each: each.correlation, default=None)
    worst = headline
    if strongest is not None:
        worst = strongest.gain if before else strongest.correlation
    weights = "the rest of the weights" if before else "the weights"
    return (
        f"{before}A curious platform that kept to the agreed search "
        f"{how_much(headline, plan_only=plan, costs=weights)} "
        f"({headline:.2f}, {report.strongest}). One that asked what it likes, as often "
        "as this run did, "
        f"{how_much(worst, plan_only=plan, costs=weights)} ({worst:.2f})."
    )


def _style(name: str, report: AuditReport) -> str | None:
    return "bold" if name == report.strongest else None


def _cells(measured: Measured) -> list[str]:
    return [
        f"{measured.correlation:.2f}",
        f"{measured.gain:.2f}",
        f"{measured.nrmse:.2f}",
        f"{measured.best_columns:.0%}",
        f"{measured.plan_quality:.1f}",
    ]
