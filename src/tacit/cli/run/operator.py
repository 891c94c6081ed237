"""`tacit run`: draft, invite, follow and end runs, and fetch what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.printing import AsJson, echo_json, echo_lines, echo_runs, example
from tacit.cli.run.account import operators_client, sign_in
from tacit.cli.run.drafting import change, new
from tacit.cli.run.inviting import invite
from tacit.cli.run.notifying import AddWebhook, Mail, RemoveWebhook, change_notifications
from tacit.cli.run.outcome import check_number, result_lines, result_notes
from tacit.cli.run.showing import Run, missing_nodes, named_run, show_run
from tacit.cli.run.watching import Timeout, seconds_of, watch_run
from tacit.errors import InputError, RunEndedError
from tacit.plain_text import plain_line

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Create runs and see them through (operators).",
    epilog="In order: sign-in, new, change, invite, watch, result, bundle. Exit codes: 0 all is "
    "well, 2 what you gave is wrong, 4 the platform refuses or is away, 6 the run ended without "
    "being finished, 7 it did not happen in time.",
)


app.command("sign-in", epilog=example("run sign-in ops.tacit"))(sign_in)
app.command(epilog=example("run new problem.json --disclose sealed --deadline 60s --name morning"))(
    new
)
app.command(epilog=example("run change r-abcdefghij tuesday.json --deadline 30s"))(change)
app.command(epilog=example("run invite r-abcdefghij alice --out alice.tacit"))(invite)


@app.command("list", epilog=example("run list --state running"))
def list_all(
    state: Annotated[str | None, typer.Option(help="Only runs in this state.")] = None,
    as_json: AsJson = False,
) -> None:
    """List all runs, the newest first."""
    with operators_client() as client:
        found = [each for each in client.runs.all() if state in (None, each.state)]
    echo_runs(found, none="there is no such run", as_json=as_json)


@app.command(epilog=example("run show r-abcdefghij"))
def show(run: Run, as_json: AsJson = False) -> None:
    """Show how far a run is, and whom it waits for."""
    with operators_client() as client:
        seen = client.runs.show(named_run(client, run))
        show_run(seen, as_json=as_json)
        if seen.state == "running" and not as_json:
            echo_lines(missing_nodes(client.clusters(), seen), err=True)


@app.command(epilog=example("run watch r-abcdefghij --timeout 1h"))
def watch(run: Run, timeout: Timeout = None, as_json: AsJson = False) -> None:
    """Print what happens to a run until it has ended; with --json one line of JSON each.

    Ends with 0 if the run is finished, and with 6 if it ended in any other way.
    """
    with operators_client() as client:
        watch_run(client, named_run(client, run), timeout=timeout, as_json=as_json)


@app.command(epilog=example('run cancel r-abcdefghij --reason "wrong day"'))
def cancel(
    run: Run,
    reason: Annotated[str, typer.Option(help="Reason that the others are shown.")] = "",
    as_json: AsJson = False,
) -> None:
    """Cancel a run; one that is running keeps its best so far. A draft is discarded."""
    with operators_client() as client:
        named = named_run(client, run)
        if client.runs.show(named).state == "draft":
            client.runs.discard(named)
            if as_json:
                echo_json({"id": named, "state": "discarded"})
            else:
                typer.echo(f"{named} was a draft and is discarded")
            return
        show_run(client.runs.cancel(named, reason=reason), as_json=as_json)


@app.command(epilog=example("run notify --mail ops@example.org"))
def notify(
    mail: Mail = None,
    webhook: AddWebhook = None,
    remove: RemoveWebhook = None,
    account: Annotated[
        str | None, typer.Option("--for", help="Set the mail address of this account instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Be told when somebody is needed: all signed, interrupted, failed, finished, a node missing.

    Neither mail nor webhooks name anything but the run's id and what is needed.
    """
    with operators_client() as client:
        if account is not None:
            if mail is None or webhook is not None or remove is not None:
                raise InputError("for another account only --mail can be set")
            client.notifications.set_mail(mail or None, account=account)
            typer.echo(plain_line(f"{account}: {mail or 'none'}"))
            return
        change_notifications(client, mail=mail, webhook=webhook, remove=remove, as_json=as_json)


@app.command(epilog=example("run resume r-abcdefghij"))
def resume(run: Run, as_json: AsJson = False) -> None:
    """Let an interrupted run go on."""
    with operators_client() as client:
        show_run(client.runs.resume(named_run(client, run)), as_json=as_json)


@app.command(epilog=example("run result r-abcdefghij --wait --csv > plan.csv"))
def result(
    run: Run,
    plan: Annotated[int, typer.Option(help="Which of several plans to show, counted from 1.")] = 1,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    timeout: Timeout = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="The plan, the first of several, for a spreadsheet.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the result of a run that has ended.

    Of several objectives there are several plans: one is shown whole, the others in a line each.
    """
    if as_csv and plan != 1:
        raise InputError("--csv has the first plan; --json has all of them")
    with operators_client() as client:
        named = named_run(client, run)
        if wait:
            client.runs.wait_for_end(named, timeout=seconds_of(timeout))
        found = client.runs.result(named)
        if as_csv:
            typer.echo(client.runs.result_csv(named), nl=False)
        elif as_json:
            echo_json(found)
        else:
            check_number(found, plan)
            terms = client.runs.show(named).terms
            echo_lines((plain_line(each) for each in result_notes(named, found)), err=True)
            echo_lines(result_lines(found, terms, plan))
    if found.state != "finished":
        raise RunEndedError(f"{named} is {found.state}: {found.reason or 'no reason is given'}")


@app.command(epilog=example("run bundle r-abcdefghij --out run.zip"))
def bundle(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="File to write. Default: RUN.zip")] = None,
) -> None:
    """Fetch all that it takes to check a run, as one file: agreement, logs, ledger, result.

    Anybody checks it offline with tacit log check, and participants with tacit participant log.
    """
    from tacit.files import replace_file, writing

    with operators_client() as client:
        named = named_run(client, run)
        data = client.runs.bundle(named)
    path = out or Path(f"{named}.zip")
    with writing(path):
        replace_file(path, data)
    typer.echo(f"{path}")
