"""`tacit run` and `tacit series`: the commands with which operators manage runs and series."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.operator_account import (
    AddWebhook,
    Mail,
    RemoveWebhook,
    Test,
    change_notifications,
    operators_client,
    sign_in,
)
from tacit.cli.printing import AsJson, command_group, echo, echo_json, echo_lines, echo_runs
from tacit.cli.run_display import (
    Timeout,
    missing_nodes,
    result_lines,
    result_notes,
    seconds_of,
    show_run,
    watch_run,
)
from tacit.errors import FileError, InputError

if TYPE_CHECKING:
    from tacit.client import RunTerms, SeriesView

Run = Annotated[str, typer.Argument(help="The run, by its id or its name.")]
Series = Annotated[str, typer.Argument(help="The series, by its id or its name.")]
Name = Annotated[str | None, typer.Option(help="Its name.")]
Deadline = Annotated[str | None, typer.Option(help="How long to search, such as 60s.")]
ReasonText = Annotated[str, typer.Option(help="Reason that the participants are shown.")]


def json_object(path: Path, /) -> dict[str, Any]:
    """A JSON object from a file."""
    import json

    from tacit.files import read_text

    try:
        found = json.loads(read_text(path))
    except ValueError as error:
        raise FileError(path, None, f"is not JSON ({error})", "correct it") from None
    if not isinstance(found, dict):
        raise FileError(path, None, "is not a JSON object", "write its fields in { }")
    return found


def given_options(**options: object) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


# Runs: before they start.


def new_run(
    file: Annotated[
        Path | None, typer.Argument(help="A problem file, or the terms of a run as JSON.")
    ] = None,
    like: Annotated[str | None, typer.Option(help="Copy the terms of this run.")] = None,
    name: Name = None,
    disclose: Annotated[
        str | None, typer.Option(help="Of a problem: what is disclosed, such as sealed or top:15.")
    ] = None,
    best: Annotated[
        str | None, typer.Option(help="Of a problem: nothing, improvement or value of the best.")
    ] = None,
    deadline: Deadline = None,
    invites: Annotated[
        bool, typer.Option("--invite", help="Invite the participants at once.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Draft a run from a problem file, from its terms as JSON, or like another run.

    Options override the file. Participants see nothing of a draft until you invite them.
    """
    if (file is None) == (like is None):
        raise InputError("give a file, or a run with --like, and not both")
    if like is not None and given_options(disclose=disclose, best=best):
        raise InputError("a copy discloses what its pattern does; change its terms instead")
    with operators_client() as client:
        if file is not None:
            terms = _terms_of(file, name, disclose, best, deadline)
        else:
            run = client.runs.find(str(like))
            terms = client.runs.terms(run, name=name, deadline_seconds=seconds_of(deadline))
        run_view = client.runs.new(terms)
        if invites:
            run_view = client.runs.invite(run_view.id)
    show_run(run_view, as_json=as_json)


def _terms_of(
    file: Path, name: str | None, disclose: str | None, best: str | None, deadline: str | None
) -> RunTerms | dict[str, Any]:
    """The terms in a file, or the usual ones for the problem in it."""
    found = json_object(file)
    if "participants" in found and "problem" in found:
        if given_options(disclose=disclose, best=best):
            raise InputError("the terms say what is disclosed; change it in the file")
        return {**found, **given_options(name=name, deadline_seconds=seconds_of(deadline))}
    # The service is heavy, and terms as JSON do not need it.
    from tacit.errors import ParameterError
    from tacit.service import uploaded, usual_terms

    try:
        problem, rules = uploaded(file.read_bytes())
        changes = given_options(disclosure=disclose, best=best)
        return usual_terms(
            problem,
            tuple(each._replace(**changes) for each in rules),
            name=name or problem.name,
            deadline_seconds=seconds_of(deadline or "60s") or 0.0,
        )
    except ParameterError as error:
        said = str(error).removeprefix("the file, ").removeprefix("the file: ")
        raise FileError(file, None, said, "see docs/platform.md") from None


def change_run(
    run: Run,
    file: Annotated[Path | None, typer.Argument(help="JSON: the terms that differ.")] = None,
    name: Name = None,
    deadline: Deadline = None,
    as_json: AsJson = False,
) -> None:
    """Change a draft, also one of a series within what was signed; what is left out stays."""
    import msgspec

    differ = {} if file is None else json_object(file)
    if not (differ or name or deadline):
        raise InputError("nothing is to change; give a file, --name or --deadline")
    with operators_client() as client:
        named = client.runs.find(run)
        # The platform replaces all terms of a draft, so those that stay are sent along.
        terms = client.runs.terms(named, name=name, deadline_seconds=seconds_of(deadline))
        changed = client.runs.change(named, {**msgspec.to_builtins(terms), **differ})
    show_run(changed, as_json=as_json)


def invite(
    run: Run,
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Participants. Default: all who have not joined yet."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write, of one participant. Default: NAME.tacit")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Folder to write NAME.tacit into.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write an invitation file for each participant: address, certificate and one-time code.

    Participants run tacit participant join NAME.tacit. Whoever has the file can join in their
    place, so hand it over privately. A new invitation of a participant ends the earlier one.
    Compare the fingerprint of the certificate by phone.
    """
    from tacit.client import SUFFIX

    if out is not None and (folder is not None or len(names or ()) != 1):
        raise InputError("--out is the file of one participant; name it, or give --folder")
    written, fingerprint = {}, None
    with operators_client() as client:
        run = client.runs.find(run)
        for file in client.runs.invitations(run, names or ()):
            # The name came from the platform: it must not lead out of the folder.
            path = out or (folder or Path()) / f"{Path(file.account).name}{SUFFIX}"
            path.parent.mkdir(parents=True, exist_ok=True)
            file.save(path)
            written[file.account], fingerprint = str(path), file.fingerprint
    if as_json:
        echo_json({"run": run, "files": written, "certificate": fingerprint})
        return
    for name, place in written.items():
        echo(f"{name}: {place}")
    if not written:
        typer.echo("all participants have joined already; name one to invite it again", err=True)
    elif fingerprint is not None:
        typer.echo(f"certificate, to compare by phone: {fingerprint}", err=True)


# Runs: while and after they run.


def list_runs(
    state: Annotated[list[str] | None, typer.Option(help="Only runs in this state.")] = None,
    name: Annotated[str | None, typer.Option(help="Only runs of this name.")] = None,
    search: Annotated[str, typer.Option(help="Only runs with these words in the name.")] = "",
    mine: Annotated[bool, typer.Option("--mine", help="Only runs that you created.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="How many to list at most.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first."""
    from itertools import islice
    from typing import get_args

    from tacit.client import MOST_LISTED, RunState

    if unknown := [each for each in state or () if each not in get_args(RunState)]:
        known = ", ".join(get_args(RunState))
        raise InputError(f"--state: there is no state {unknown[0]!r}; choose from {known}")
    states = [each for each in get_args(RunState) if each in (state or ())]
    with operators_client() as client:
        wanted = client.runs.each(
            states=states,
            name=name,
            search=search,
            mine=mine,
            page_size=min(limit + 1, MOST_LISTED),
        )
        found = list(islice(wanted, limit + 1))
    echo_runs(found[:limit], none="there is no such run", as_json=as_json)
    if len(found) > limit:
        typer.echo(f"these are the newest {limit}; --limit gives more", err=True)


def show(run: Run, as_json: AsJson = False) -> None:
    """Show how far a run is, and whom it waits for."""
    with operators_client() as client:
        seen = client.runs.show(client.runs.find(run))
        show_run(seen, as_json=as_json)
        # Only then does a missing node hold the run up now.
        if seen.state == "running" and not as_json:
            echo_lines(missing_nodes(client.clusters(), seen), err=True)


def watch(run: Run, timeout: Timeout = None, as_json: AsJson = False) -> None:
    """Print what happens to a run until it has ended; with --json one line of JSON each.

    The exit code is 0 if the run is finished, and 6 if it ended in any other way.
    """
    with operators_client() as client:
        watch_run(client, client.runs.find(run), timeout=timeout, as_json=as_json)


def cancel(run: Run, reason: ReasonText = "", as_json: AsJson = False) -> None:
    """Cancel a run; one that is running keeps its best so far. A draft is discarded."""
    with operators_client() as client:
        named = client.runs.find(run)
        # A draft was shown to nobody, so nobody needs to hear that it was cancelled.
        if client.runs.show(named).state != "draft":
            show_run(client.runs.cancel(named, reason=reason), as_json=as_json)
            return
        client.runs.discard(named)
    if as_json:
        echo_json({"id": named, "state": "discarded"})
    else:
        typer.echo(f"{named} was a draft and is discarded")


def resume(run: Run, as_json: AsJson = False) -> None:
    """Resume an interrupted run."""
    with operators_client() as client:
        show_run(client.runs.resume(client.runs.find(run)), as_json=as_json)


def result(
    run: Run,
    plan: Annotated[int, typer.Option(help="Which of several plans to show, counted from 1.")] = 1,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the run has ended.")] = False,
    timeout: Timeout = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Print the plan, the first of several, as CSV.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the result of a run that has ended.

    With several objectives there are several plans: one is shown whole, the others in a line each.
    """
    from tacit.client import check_finished

    if as_csv and plan != 1:
        raise InputError("--csv has the first plan; --json has all of them")
    with operators_client() as client:
        named = client.runs.find(run)
        if wait:
            client.runs.wait_for_end(named, timeout=seconds_of(timeout))
        found = client.runs.result(named)
        if as_csv:
            typer.echo(client.runs.result_csv(named), nl=False)
        elif as_json:
            echo_json(found)
        else:
            lines = result_lines(found, client.runs.show(named).terms, plan)
            echo_lines(result_notes(named, found), err=True)
            echo_lines(lines)
    # After the result is printed, so that a script gets the best so far and the exit code as well.
    check_finished(named, found.state, found.reason)


def bundle(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="File to write. Default: RUN.zip")] = None,
) -> None:
    """Fetch all that is needed to check a run, as one file: agreement, logs, ledger, result.

    Anybody checks it offline with tacit log check, and participants with tacit participant log.
    """
    from tacit.files import replace_file, writing

    with operators_client() as client:
        named = client.runs.find(run)
        data = client.runs.bundle(named)
    path = out or Path(f"{named}.zip")
    with writing(path):
        # As a whole: half a bundle would look like one that somebody has changed.
        replace_file(path, data)
    typer.echo(f"{path}")


def notify(
    mail: Mail = None,
    webhook: AddWebhook = None,
    remove: RemoveWebhook = None,
    test: Test = False,
    account: Annotated[
        str | None, typer.Option("--for", help="Set the mail address of this account instead.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Get mail or webhook calls when a run is signed, interrupted, failed, finished or stalls.

    Neither mail nor webhooks name anything but the run's id and what is needed.
    """
    with operators_client() as client:
        if account is None:
            change_notifications(
                client, mail=mail, webhook=webhook, remove=remove, test=test, as_json=as_json
            )
            return
        if mail is None or webhook is not None or remove is not None or test:
            raise InputError("for another account only --mail can be set")
        client.notifications.set_mail(mail or None, account=account)
        echo(f"{account}: {mail or 'none'}")


# Series.


def _show_series(seen: SeriesView, *, as_json: bool) -> None:
    if as_json:
        echo_json(seen)
        return
    echo(f"{seen.id}  {seen.state}  {seen.name}")
    if seen.hash:
        typer.echo(f"hash     {seen.hash}")
    for each in seen.members:
        how = "signed" if each.signed else "joined" if each.joined else "invited"
        echo(f"  {each.name}  {how}")
    for run in seen.its_runs:
        echo(f"  run {run.number}  {run.id}  {run.state}")
    for name, code in seen.invitations.items():
        echo(f"invitation of {name} (shown once): {code}")


def new_series(
    terms: Annotated[Path | None, typer.Argument(help="The terms as JSON.")] = None,
    like: Annotated[
        str | None,
        typer.Option(help="In place of terms: a run as the pattern, or a series to copy (s-...)."),
    ] = None,
    name: Name = None,
    runs_per_day: Annotated[
        int | None, typer.Option(min=1, help="Most runs in any 23.5 hours. Default: 1")
    ] = None,
    days: Annotated[float | None, typer.Option(help="How long it is valid. Default: 90")] = None,
    every: Annotated[int | None, typer.Option(help="Start a run every so many minutes.")] = None,
    at: Annotated[list[str] | None, typer.Option(help="Start a run daily at HH:MM (UTC).")] = None,
    equity: Annotated[
        bool | None,
        typer.Option("--equity/--no-equity", help="Even out over the runs who gains."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a series and invite its participants, who then sign it once."""
    import msgspec

    if (terms is None) == (like is None):
        raise InputError("give a file with terms, or a run or series with --like, and not both")
    if every is not None and at:
        raise InputError("runs start every so many minutes, or at times of day; give one of them")
    schedule = given_options(every_minutes=every, at=sorted(at) if at else None)
    with operators_client() as client:
        if terms is not None:
            pattern = json_object(terms)
        elif like is not None and like.startswith("s-"):
            pattern = msgspec.to_builtins(client.series.show(like).terms)
        else:
            copied = client.runs.terms(client.runs.find(str(like)))
            pattern = {"name": copied.name, "run": msgspec.to_builtins(copied)}
        pattern |= given_options(
            name=name, runs_per_day=runs_per_day, days=days, schedule=schedule or None
        )
        # A copy keeps what its pattern has, unless the option says otherwise.
        if equity is not None:
            pattern["equity"] = (pattern.get("equity") or {}) if equity else None
        _show_series(client.series.new(pattern), as_json=as_json)


def list_series(as_json: AsJson = False) -> None:
    """List all series."""
    with operators_client() as client:
        found = client.series.all()
    if as_json:
        echo_json(found)
        return
    for each in found:
        echo(f"{each.id}  {each.state:8} {each.runs:4}  {each.name}")


def show_series(series: Series, as_json: AsJson = False) -> None:
    """Show who has signed a series, and its runs."""
    with operators_client() as client:
        _show_series(client.series.show(client.series.find(series)), as_json=as_json)


def next_run(
    series: Series,
    changes: Annotated[
        Path | None,
        typer.Option(help="JSON: name, problem, participants and reference, as they differ."),
    ] = None,
    draft: Annotated[
        bool, typer.Option("--draft", help="Keep it as a draft until the schedule's next time.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start the next run: a copy of the last one, with what differs."""
    differ = {} if changes is None else json_object(changes)
    with operators_client() as client:
        run = client.series.next_run(client.series.find(series), differ, start=not draft)
    if as_json:
        echo_json(run)
        return
    for warning in run.warnings:
        echo(f"Note: {warning}", err=True)
    echo(f"run {run.series_number}  {run.id}  {run.state}")


def end_series(series: Series, reason: ReasonText = "") -> None:
    """Start no more runs of a series; runs that have started continue."""
    with operators_client() as client:
        client.series.end(client.series.find(series), reason=reason)
    echo(f"{series} has ended")


run_app = command_group(
    "run",
    "Create runs and see them through (operators).",
    ("sign-in", sign_in, "ops.tacit"),
    ("new", new_run, "problem.json --disclose sealed --deadline 60s --name morning"),
    ("change", change_run, "r-abcdefghij tuesday.json --deadline 30s"),
    ("invite", invite, "r-abcdefghij alice --out alice.tacit"),
    ("list", list_runs, "--state running"),
    ("show", show, "r-abcdefghij"),
    ("watch", watch, "r-abcdefghij --timeout 1h"),
    ("cancel", cancel, 'r-abcdefghij --reason "wrong day"'),
    ("notify", notify, "--mail ops@example.org --test"),
    ("resume", resume, "r-abcdefghij"),
    ("result", result, "r-abcdefghij --wait --csv > plan.csv"),
    ("bundle", bundle, "r-abcdefghij --out run.zip"),
    epilog="In order: sign-in, new, change, invite, watch, result, bundle. Exit codes: 0 success, "
    "2 wrong input, 4 the platform refuses or cannot be reached, 6 the run ended without being "
    "finished, 7 timeout.",
)
series_app = command_group(
    "series",
    "Create series of runs that participants sign once (operators).",
    ("sign-in", sign_in, "ops.tacit"),
    ("new", new_series, "--like r-abcdefghij --name daily --runs-per-day 2 --at 06:00"),
    ("list", list_series),
    ("show", show_series, "s-abcdefghij"),
    ("run", next_run, "s-abcdefghij --changes tuesday.json"),
    ("end", end_series, 's-abcdefghij --reason "new nodes"'),
    epilog="In order: sign-in, new, show, run; participants use tacit participant follow.",
)
