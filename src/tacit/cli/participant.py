"""`tacit participant`: review, sign, seal and submit on one's own machine, and check afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from tacit import participant
from tacit.cli.participant_profile import (
    AsJson,
    Folder,
    ask,
    echo_json,
    echo_lines,
    example,
    folder_of,
    keys_app,
    trust,
)
from tacit.cli.run.notifying import AddWebhook, Mail, RemoveWebhook, change_notifications
from tacit.cli.run.watching import Timeout, seconds_of, watch_run
from tacit.cli.series.following import balance, follow, series
from tacit.errors import InputError, PlatformError
from tacit.files import read_bytes
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.engine.agreement import Agreement

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Take part in a run: your costs leave this machine only sealed.",
    epilog="In order: join, trust, runs, review, sign, submit, watch, result, log.",
)
app.add_typer(keys_app, name="keys")
app.command(epilog=example("series"))(series)
app.command(epilog=example("follow s-abcdefghij --costs costs --results plans"))(follow)
app.command(epilog=example("balance s-abcdefghij"))(balance)
app.command(epilog=example("trust nodes.toml south.toml west.toml"))(trust)


def _signed_here(context: typer.Context, incomplete: str) -> list[str]:
    """Runs that a shell may complete: those that this machine has signed; asks nobody."""
    folder = folder_of(context.params.get("profile")) / "runs"
    return sorted(path.name for path in folder.glob("r-*") if path.name.startswith(incomplete))


Run = Annotated[
    str,
    typer.Argument(
        help="The run, by its id or its name, as runs lists them.", autocompletion=_signed_here
    ),
]
TrustPath = Annotated[
    Path | None,
    typer.Option(help="Keys that the others gave you (TOML): any other key is refused."),
]
Unpinned = Annotated[
    bool,
    typer.Option(
        "--unpinned", help="Nothing is pinned: believe the platform whose keys these are."
    ),
]
Costs = Annotated[Path | None, typer.Option(help="Your CSV, to check that it fits.")]


OWN_PART = "this is your own part of the plan; nobody but you has it, so keep it"


def _open(profile: Path | None, run: str | None = None) -> tuple[participant.Profile, str]:
    """The profile, and the id of a run that was given by its id or its name."""
    loaded = participant.load_profile(folder_of(profile))
    if run is None or run.startswith("r-"):
        return loaded, run or ""
    found = [each.id for each in participant.runs(loaded) if each.name == run]
    if len(found) != 1:
        many = "several runs have" if found else "no run of yours has"
        raise InputError(f"{many} the name {run!r}; give the id that tacit participant runs shows")
    return loaded, found[0]


def _trust(path: Path | None, *, unpinned: bool) -> participant.Trust | None:
    if path is not None and unpinned:
        raise InputError("--trust pins keys and --unpinned does without; give one of them")
    return None if path is None else participant.load_trust(path)


@app.command(epilog=example("join alice.tacit"))
def join(
    invitation: Annotated[
        str, typer.Argument(help="Your invitation file, or the platform's address.")
    ],
    code: Annotated[
        str | None, typer.Argument(help="With an address: the code; it works once.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="Your key file, if not in your folder.")] = None,
    ca: Annotated[
        Path | None, typer.Option(help="With an address: the platform's certificate, to pin it.")
    ] = None,
    profile: Folder = None,
) -> None:
    """Hand in your invitation. If your access has expired, ask for a new one and join again.

    An invitation file has all that it takes. If you have no keys yet, they are drawn.
    """
    import time

    from tacit.cli.run.invitations import opened_invitation

    folder = folder_of(profile)
    given = opened_invitation(invitation, code, ca)
    if given.account is not None and key is None and not list(folder.glob("*.key")):
        key = participant.new_key_file(given.account, folder)
        said = f"made {key}: readable by you alone, keep a copy in a safe place"
        typer.echo(plain_line(said), err=True)
    made = participant.join(
        given.url, given.code, profile=folder, key=key, certificate=given.certificate
    )
    until = time.strftime("%Y-%m-%d", time.localtime(made.expires))
    said = f"you are {made.account!r} at {made.url} until {until}; profile in {made.folder}"
    typer.echo(plain_line(said, longest=2000))


@app.command(epilog=example("runs"))
def runs(profile: Folder = None, as_json: AsJson = False) -> None:
    """List your runs."""
    found = participant.runs(_open(profile)[0])
    if as_json:
        echo_json(found)
        return
    for each in found:
        why = f"  ({each.reason})" if each.reason else ""
        typer.echo(plain_line(f"{each.id}  {each.state:11}  {each.name}{why}"))
    if not found:
        typer.echo("you are a member of no run yet", err=True)


@app.command(epilog=example("review r-abcdefghij --trust keys.toml --costs costs.csv"))
def review(
    run: Run,
    trust: TrustPath = None,
    unpinned: Unpinned = False,
    write_trust: Annotated[
        Path | None,
        typer.Option(help="Write the keys shown here to a file, to compare them elsewhere."),
    ] = None,
    costs: Costs = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what will be disclosed to whom, how much can be inferred, by when, and whose keys.

    Sends nothing. Fails if something speaks against signing, such as keys that are not pinned. Keys
    given with --trust are remembered if they fit, and count for sign too.
    """
    pinned = _trust(trust, unpinned=unpinned)
    loaded, run = _open(profile, run)
    made = participant.review(loaded, run, trust=pinned, unpinned=unpinned, costs=costs)
    if as_json:
        echo_json(participant.review_json(made))
    else:
        echo_lines(participant.review_lines(made))
    loaded.keep_reviewed(run, made.hash)
    if write_trust is not None:
        note = f"as the platform shows them for {run}: compare each with its owner before you trust"
        participant.save_trust(participant.seen_trust(made.agreement), write_trust, note=note)
    made.check()
    if pinned is not None:
        participant.save_trust(pinned, loaded.trust_file)
    made.check_costs()


@app.command(epilog=example("sign r-abcdefghij"))
def sign(
    run: Run,
    trust: TrustPath = None,
    unpinned: Unpinned = False,
    costs: Costs = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: sign what review has shown.")
    ] = False,
    agreement: Annotated[
        str | None, typer.Option(help="Sign only the agreement with this hash.")
    ] = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Sign the agreement of a run, if every check of review passes. Shows it first, and asks.

    With --yes it signs the agreement that review has shown last, or the one named, and no other.
    """
    given = _trust(trust, unpinned=unpinned)
    loaded, run = _open(profile, run)
    made = participant.review(loaded, run, trust=given, unpinned=unpinned, costs=costs)
    if not yes:
        echo_lines(participant.review_lines(made), err=as_json)
        loaded.keep_reviewed(run, made.hash)
    made.check()
    made.check_costs()
    if yes or agreement is not None:
        participant.check_is_expected(made, agreement or loaded.reviewed_hash(run))
    if not yes:
        question = f"\nSign agreement {made.hash[:16]}... as {made.account!r}?"
        if not ask(question, err=as_json):
            raise typer.Abort
    after = participant.sign(loaded, run, seen=made)
    if as_json:
        signed = {"run": run, "agreement": made.hash, "account": made.account}
        echo_json({**signed, "state": after.state, "pinned": made.pinned})
        return
    typer.echo(plain_line(f"signed {made.hash} as {made.account!r}; the run is {after.state}"))


@app.command(epilog=example("submit r-abcdefghij costs.csv"))
def submit(
    run: Run,
    costs: Annotated[Path, typer.Argument(help="Your CSV: your rows only, by name or number.")],
    objective: Annotated[str | None, typer.Option(help="Objective, if there are several.")] = None,
    again: Annotated[
        bool,
        typer.Option(
            "--again", help="Seal costs that you sealed for other runs before: it adds up."
        ),
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait until the nodes have checked them; 3 if refused.")
    ] = False,
    timeout: Timeout = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Check your costs, split and seal them to the nodes, and upload the sealed boxes."""
    loaded, run = _open(profile, run)
    done = participant.submit(loaded, run, costs, objective=objective, again=again)
    if wait:
        limit = seconds_of(timeout)
        seen = participant.wait_for_check(loaded, run, done.objective, timeout=limit)
        done = msgspec.structs.replace(done, state=seen.state, reason=seen.reason)
    if as_json:
        echo_json(done)
        return
    why = f": {done.reason}" if done.reason else ""
    what = "sealed and handed in"
    if done.earlier:
        what = "nothing was sent, since rows are sealed once per agreement and yours were before"
    typer.echo(plain_line(f"{what}; the nodes' check is {done.state}{why}"))
    if done.repeated:
        typer.echo(plain_line(f"Note: {done.repeated}", longest=2000), err=True)
    typer.echo(_receipts(loaded, run, done.receipts), err=True)


def _receipts(profile: participant.Profile, run: str, count: int) -> str:
    """What was kept of the nodes' logs, to notice if they are set back."""
    agreement = profile.signed_agreement(run)
    if agreement is not None and count == len(agreement.nodes):
        return f"kept receipts of all {count} nodes; tacit participant log {run} compares them"
    return f"kept receipts of {count} nodes; ask again later, so that a lost log is noticed"


@app.command("budget", epilog=example("budget"))
def show_budget(profile: Folder = None, as_json: AsJson = False) -> None:
    """List what you have sealed, under which disclosures, and what adds up for the same costs.

    It counts all that the agreements allow, whether the platform made use of it or not.
    """
    spent = participant.budget(_open(profile)[0])
    if as_json:
        echo_json(participant.budget_json(spent))
        return
    echo_lines(plain_line(line, longest=2000) for line in participant.budget_lines(spent))
    if not spent:
        typer.echo("nothing was sealed yet", err=True)


@app.command(epilog=example('withdraw r-abcdefghij --reason "wrong rows"'))
def withdraw(
    run: Run,
    reason: Annotated[str, typer.Option(help="Reason that the others are shown.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    profile: Folder = None,
) -> None:
    """Leave a run before it starts; it ends for everybody."""
    loaded, run = _open(profile, run)
    if not yes:
        typer.confirm(f"Withdraw from {run}? It ends for all participants.", abort=True)
    after = participant.withdraw(loaded, run, reason=reason)
    typer.echo(plain_line(f"withdrawn; the run is {after.state}"))


@app.command(epilog=example("result r-abcdefghij --costs costs.csv"))
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
    loaded, run = _open(profile, run)
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
        raise PlatformError(f"{run} is {outcome.state} and has no plan; try again when it has run")
    if as_csv:
        third, lines = ("whose", rows) if own is None else ("cost", own.rows(plan))
        heads = (*participant.plan_heads(agreement, of_cells=own is not None), third)
        typer.echo(participant.plan_csv(lines, heads=heads), nl=False)
        return
    _show_plan(loaded, outcome, plan, agreement, own)
    _balance(loaded, run)
    typer.echo(_receipts(loaded, run, outcome.receipts), err=True)


def _show_plan(
    profile: participant.Profile,
    outcome: participant.Outcome,
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
    for line in participant.account_lines(known):
        typer.echo(plain_line(line), err=True)


@app.command(epilog=example("notify --mail me@example.org"))
def notify(
    mail: Mail = None,
    webhook: AddWebhook = None,
    remove: RemoveWebhook = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Be told when you are needed: invited, to sign, to submit, refused, finished, failed.

    Neither mail nor webhooks name anything but the run's id and what is needed.
    """
    with _open(profile)[0].connect() as client:
        change_notifications(client, mail=mail, webhook=webhook, remove=remove, as_json=as_json)


@app.command(epilog=example("watch r-abcdefghij --timeout 1h"))
def watch(
    run: Run, timeout: Timeout = None, profile: Folder = None, as_json: AsJson = False
) -> None:
    """Print what happens to a run until it has ended; with --json one line of JSON each.

    Ends with 0 if the run is finished, with 6 if it ended in any other way, and with 7 if the time
    is over before.
    """
    loaded, run = _open(profile, run)
    with loaded.connect() as client:
        watch_run(client, run, timeout=timeout, as_json=as_json)


@app.command(epilog=example("log r-abcdefghij"))
def log(
    run: Annotated[
        str,
        typer.Argument(
            help="The run, by its id or name, or its audit bundle.", autocompletion=_signed_here
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
        loaded, _ = _open(profile)
        verdict = participant.check_bundle_here(loaded, read_bytes(run))
    else:
        loaded, run = _open(profile, run)
        verdict = participant.check_logs(loaded, run)
    if as_json:
        shown = {"run": verdict.run, "state": verdict.state, "ok": verdict.ok}
        echo_json({**shown, "findings": verdict.findings, "notes": verdict.notes})
    else:
        echo_lines(plain_line(line, longest=2000) for line in verdict.lines())
    verdict.check()
    if not as_json:
        typer.echo("everything is as it was signed")
