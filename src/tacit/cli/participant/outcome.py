"""During and after a run: watch it, show its plan, and check the nodes' logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tacit import participant
from tacit.cli.participant.profile import Folder, Run, opened, receipts_line, signed_here
from tacit.cli.printing import AsJson, echo_json, echo_lines
from tacit.cli.run.watching import Timeout, seconds_of, watch_run
from tacit.errors import InputError, PlatformError, RunEndedError
from tacit.files import read_bytes
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.agreement import Agreement

NOTHING_TOLD = "counts for balances, and nothing is told of it"
OWN_PART = "this is your own part of the plan; nobody but you has it, so keep it"


def watch(
    run: Run, timeout: Timeout = None, profile: Folder = None, as_json: AsJson = False
) -> None:
    """Print what happens to a run until it has ended; with --json one line of JSON each.

    Ends with 0 if the run is finished, with 6 if it ended in any other way, and with 7 if the time
    is over before.
    """
    loaded, run = opened(profile, run)
    with loaded.connect() as client:
        watch_run(client, run, timeout=timeout, as_json=as_json)


def result(
    run: Run,
    plan: Annotated[int, typer.Option(help="Which of several plans to show, counted from 1.")] = 1,
    costs: Annotated[
        Path | None,
        typer.Option(help="Your CSV: also show what your rows cost, computed on this machine."),
    ] = None,
    objective: Annotated[
        str | None, typer.Option(help="Objective of that CSV, if there are several.")
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The plan, or with --costs your own rows of it, as CSV.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    timeout: Timeout = None,
    as_json: AsJson = False,
    profile: Folder = None,
) -> None:
    """Show the plan; your own rows are marked, and log then checks this very plan.

    Of several objectives there are several plans: one is shown whole, the others in a line each.
    If plans are for their owners only, your own rows are put together here from the nodes' boxes.
    """
    if objective is not None and costs is None:
        raise InputError("--objective says what --costs is for; give both, or neither")
    loaded, run = opened(profile, run)
    if wait:
        participant.wait_for_end(loaded, run, timeout=seconds_of(timeout))
    outcome, agreement = participant.result(loaded, run), loaded.signed_agreement(run)
    participant.check_number(outcome, plan)
    own = None
    if costs is not None and participant.count_plans(outcome):
        own = participant.own_costs(loaded, run, outcome, costs, objective=objective)
    rows = participant.plan_rows(outcome, agreement, loaded.account, number=plan)
    notes = [f"rejected a box of {why}" for why in outcome.rejected]
    notes += [] if own is None else own.notes
    echo_lines((plain_line(f"Note: {note}", longest=2000) for note in notes), err=True)
    if as_json:
        shown = {**msgspec.structs.asdict(outcome), "rows": rows}
        if agreement is not None and agreement.equity is not None:
            shown["account"] = participant.account_of_run(loaded, run, agreement)
        echo_json(shown if own is None else {**shown, "own_costs": own.to_json()})
        return
    if not as_csv:
        why = f": {outcome.reason}" if outcome.reason else ""
        typer.echo(plain_line(f"{run} is {outcome.state}{why}"), err=True)
        if outcome.proved:
            weighted = agreement is not None and agreement.equity is not None
            what = " for costs with their factors" if weighted else ""
            typer.echo(f"no plan is better{what}: the nodes proved it, says the platform", err=True)
        elif outcome.gaps:
            most = max(outcome.gaps)
            typer.echo(f"no plan is better by more than {most:,}, says the platform", err=True)
    if outcome.plan is None and not outcome.own_rows:
        if wait:
            participant.check_is_finished(run, outcome.state, outcome.reason)
        if outcome.state in ("cancelled", "failed"):
            raise RunEndedError(f"{run} is {outcome.state} and will have no plan")
        raise PlatformError(f"{run} is {outcome.state} and has no plan; try again when it has run")
    if as_csv:
        third, lines = ("whose", rows) if own is None else ("cost", own.rows(plan))
        heads = (*participant.plan_heads(agreement, of_cells=own is not None), third)
        typer.echo(participant.plan_csv(lines, heads=heads), nl=False)
        return
    _show_plan(loaded, outcome, plan, agreement, own)
    _balance(loaded, run)
    typer.echo(receipts_line(loaded, run, outcome.receipts), err=True)


def _show_plan(
    profile: participant.Profile,
    outcome: participant.OwnResult,
    number: int,
    agreement: Agreement | None,
    own: participant.OwnCosts | None,
) -> None:
    """One plan whole, what it costs here, and the others in a line each."""
    several = participant.count_plans(outcome) > 1
    if several:
        echo_lines([plain_line(participant.plan_title(outcome, agreement, number))])
    rows = participant.plan_rows(outcome, agreement, profile.account, number=number)
    marked = not all(whose for _, _, whose in rows)
    echo_lines(participant.table_lines(rows, agreement, marked=marked))
    if own is not None:
        echo_lines(["", *(plain_line(line) for line in own.lines(number))])
    if several:
        typer.echo("\nthe others; --plan N shows one of them whole, and --json has all")
    others = participant.other_plans(
        outcome, agreement, profile.account, number, sums=() if own is None else own.sums
    )
    echo_lines(plain_line(line, longest=2000) for line in others)
    if outcome.plan is None:
        typer.echo(OWN_PART, err=True)
    elif marked:
        whose = "yours" if agreement is None or not agreement.known_problem.between_places else ""
        typer.echo(f"* {whose or 'yours: what the way from here costs is in your file'}", err=True)


def _balance(profile: participant.Profile, run: str) -> None:
    """What is known here of what one saved, in a series with equity."""
    agreement = profile.signed_agreement(run)
    if agreement is None or agreement.equity is None:
        return
    known = participant.account_of_run(profile, run, agreement)
    if known is None:
        typer.echo(f"tacit participant log {run} tells what it means for balances", err=True)
        return
    for line in participant.account_lines(known) or [f"run {known.number} {NOTHING_TOLD}"]:
        typer.echo(plain_line(line), err=True)


def log(
    run: Annotated[
        str,
        typer.Argument(
            help="The run, by its id or name, or its audit bundle.", autocompletion=signed_here
        ),
    ],
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Fetch the nodes' signed logs and check that everybody did what was signed.

    A bundle (RUN.zip, from tacit run bundle) is checked without the platform. Ends with an exit
    code other than 0 if anything is off.
    """
    if run.endswith(".zip"):
        loaded, _ = opened(profile)
        verdict = participant.check_bundle_here(loaded, read_bytes(run))
    else:
        loaded, run = opened(profile, run)
        verdict = participant.check_logs(loaded, run)
    if as_json:
        shown = {"run": verdict.run, "state": verdict.state, "ok": verdict.ok}
        echo_json({**shown, "findings": verdict.findings, "notes": verdict.notes})
    else:
        echo_lines(plain_line(line, longest=2000) for line in verdict.lines())
    verdict.check()
    if not as_json:
        typer.echo("everything is as it was signed")
