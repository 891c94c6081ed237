"""`tacit run`: draft, invite, follow and end runs, and fetch what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.printing import AsJson, echo_json, echo_runs, example
from tacit.cli.run.account import json_object, operators_client, sign_in
from tacit.cli.run.inviting import invite
from tacit.cli.run.notifying import AddWebhook, Mail, RemoveWebhook, change_notifications
from tacit.cli.run.watching import Timeout, seconds_of, waits_for, watch_run
from tacit.errors import FileError, InputError, RunEndedError
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import PlatformClient, RunResult, RunView

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Create runs and see them through (operators).",
    epilog="In order: sign-in, new, invite, watch, result, bundle. Exit codes: 0 all is well, 2 "
    "what you gave is wrong, 4 the platform refuses or is away, 6 the run ended without being "
    "finished, 7 it did not happen in time.",
)

Run = Annotated[str, typer.Argument(help="The run, by its id or its name.")]


def _named(client: PlatformClient, run: str) -> str:
    """The id of a run that was given by its id or its name."""
    if run.startswith("r-"):
        return run
    found = [each.id for each in client.runs.all() if each.name == run]
    if len(found) != 1:
        many = "several runs have" if found else "no run has"
        raise InputError(f"{many} the name {run!r}; give the id that tacit run list shows")
    return found[0]


app.command("sign-in", epilog=example("run sign-in ops.tacit"))(sign_in)
app.command(epilog=example("run invite r-abcdefghij alice --out alice.tacit"))(invite)


@app.command(epilog=example("run new problem.json --disclose sealed --deadline 60s --name morning"))
def new(
    file: Annotated[
        Path | None, typer.Argument(help="A problem file, or the terms of a run as JSON.")
    ] = None,
    like: Annotated[
        str | None, typer.Option(help="In place of a file: the run to copy the terms of.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Its name.")] = None,
    disclose: Annotated[
        str | None, typer.Option(help="Of a problem: what is disclosed, such as sealed or top:15.")
    ] = None,
    best: Annotated[
        str | None, typer.Option(help="Of a problem: nothing, improvement or value of the best.")
    ] = None,
    deadline: Annotated[str | None, typer.Option(help="How long to search, such as 60s.")] = None,
    invites: Annotated[
        bool, typer.Option("--invite", help="Invite the participants at once.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a run, which participants are not told of before they are invited."""
    if (file is None) == (like is None):
        raise InputError("give a file, or a run with --like, and not both")
    with operators_client() as client:
        if file is not None:
            terms = _terms_of(file, name, disclose, best, deadline)
        else:
            terms = _changed(client.runs.show(_named(client, str(like))).terms, name, deadline)
            if disclose is not None or best is not None:
                raise InputError("a copy discloses what its pattern does; change its terms instead")
        made: RunView = client.runs.new(terms)
        if invites:
            made = client.runs.invite(made.id)
    show_run(made, as_json=as_json)


def _terms_of(
    file: Path, name: str | None, disclose: str | None, best: str | None, deadline: str | None
) -> dict[str, Any]:
    found = json_object(file)
    if "participants" in found and "problem" in found:
        if disclose is not None or best is not None:
            raise InputError("the terms say what is disclosed; change it in the file")
        return _changed(found, name, deadline)
    from tacit.errors import ParameterError
    from tacit.runs import parse_duration
    from tacit.service import Rules, run_terms, uploaded

    try:
        upload = uploaded(file.read_bytes())
        rules = upload.rules
        if disclose is not None or best is not None:
            rules = tuple(
                each._replace(disclosure=disclose or each.disclosure, best=best or each.best)
                for each in rules
            )
        decided = Rules(
            name or upload.problem.name,
            rules[0].disclosure,
            rules[0].best,
            parse_duration(deadline or "60s"),
            0,
            24.0,
            objectives=rules,
        )
        return run_terms(upload.problem, decided)
    except ParameterError as error:
        raise FileError(file, None, str(error), "see docs/platform.md") from None


def _changed(terms: dict[str, Any], name: str | None, deadline: str | None) -> dict[str, Any]:
    seconds = seconds_of(deadline)
    given = {"name": name, "deadline_seconds": seconds}
    return {**terms, **{key: value for key, value in given.items() if value is not None}}


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
        show_run(client.runs.show(_named(client, run)), as_json=as_json)


def show_run(seen: RunView, /, *, as_json: bool) -> None:
    """Print a run."""
    if as_json:
        echo_json(seen)
        return
    why = f" ({seen.reason})" if seen.reason else ""
    typer.echo(plain_line(f"{seen.id}  {seen.state}{why}  {seen.name}"))
    if waits := waits_for(seen):
        typer.echo(plain_line(waits.removeprefix(", ")))
    for each in seen.members:
        how = "signed" if each.signed else "joined" if each.joined else "invited"
        typer.echo(plain_line(f"  {each.name}  {how}, inputs {each.submission_state}"))
    if seen.progress is not None:
        typer.echo(f"generation {seen.progress.generation}")
    for warning in seen.warnings:
        typer.echo(plain_line(f"Note: {warning}"), err=True)
    for name, code in getattr(seen, "invitations", {}).items():
        typer.echo(plain_line(f"invitation of {name} (shown once): {code}"))


@app.command(epilog=example("run watch r-abcdefghij --timeout 1h"))
def watch(run: Run, timeout: Timeout = None, as_json: AsJson = False) -> None:
    """Print what happens to a run until it has ended; with --json one line of JSON each.

    Ends with 0 if the run is finished, and with 6 if it ended in any other way.
    """
    with operators_client() as client:
        watch_run(client, _named(client, run), timeout=timeout, as_json=as_json)


@app.command(epilog=example('run cancel r-abcdefghij --reason "wrong day"'))
def cancel(
    run: Run,
    reason: Annotated[str, typer.Option(help="Reason that the others are shown.")] = "",
    as_json: AsJson = False,
) -> None:
    """Cancel a run; one that is running keeps its best so far. A draft is discarded."""
    with operators_client() as client:
        named = _named(client, run)
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
        show_run(client.runs.resume(_named(client, run)), as_json=as_json)


@app.command(epilog=example("run result r-abcdefghij --wait --csv > plan.csv"))
def result(
    run: Run,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    timeout: Timeout = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="The plan for a spreadsheet.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the result of a run that has ended."""
    with operators_client() as client:
        named = _named(client, run)
        if wait:
            client.runs.wait_for_end(named, timeout=seconds_of(timeout))
        found = client.runs.result(named)
        if as_csv:
            typer.echo(client.runs.result_csv(named), nl=False)
        elif as_json:
            echo_json(found)
        else:
            _show_result(named, found)
    if found.state != "finished":
        raise RunEndedError(f"{named} is {found.state}: {found.reason or 'no reason is given'}")


def _show_result(run: str, found: RunResult) -> None:
    why = f": {found.reason}" if found.reason else ""
    typer.echo(plain_line(f"{run} is {found.state}{why}"), err=True)
    if found.for_owners:
        typer.echo("there is a plan, of which each participant has its own part", err=True)
    elif found.plan is None:
        typer.echo("there is no plan", err=True)
    for row, column in (found.plan.named or []) if found.plan is not None else []:
        typer.echo(plain_line(f"{row}  {column}"))
    if found.front and len(found.front) > 1:
        typer.echo(f"one of {len(found.front)} plans; --json has all", err=True)


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
        named = _named(client, run)
        data = client.runs.bundle(named)
    path = out or Path(f"{named}.zip")
    with writing(path):
        replace_file(path, data)
    typer.echo(f"{path}")
