"""`tacit participant`: review, sign, seal and submit on one's own machine, and check afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from tacit import participant
from tacit.errors import InputError, PlatformError
from tacit.participant import plain_line

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Take part in a run: your costs leave this machine only sealed.",
    epilog="In order: keys new, join, runs, review, sign, submit, result, log.",
)
keys_app = typer.Typer(no_args_is_help=True, help="Make and show your keys.")
app.add_typer(keys_app, name="keys")

Folder = Annotated[
    Path | None,
    typer.Option("--profile", help="Your folder. Default: ~/.config/tacit", show_default=False),
]
Run = Annotated[str, typer.Argument(help="The run, by its id or its name, as runs lists them.")]
TrustPath = Annotated[
    Path | None,
    typer.Option(help="Keys that the others gave you (TOML): any other key is refused."),
]
Costs = Annotated[Path | None, typer.Option(help="Your CSV, to check that it fits.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _folder(profile: Path | None) -> Path:
    return profile or participant.default_folder()


def _open(profile: Path | None, run: str | None = None) -> tuple[participant.Profile, str]:
    """The profile, and the id of a run that was given by its id or its name."""
    loaded = participant.load_profile(_folder(profile))
    if run is None or run.startswith("r-"):
        return loaded, run or ""
    found = [each.id for each in participant.runs(loaded) if each.name == run]
    if len(found) != 1:
        many = "several runs have" if found else "no run of yours has"
        raise InputError(f"{many} the name {run!r}; give the id that tacit participant runs shows")
    return loaded, found[0]


def _trust(path: Path | None) -> participant.Trust | None:
    return None if path is None else participant.load_trust(path)


def _echo_json(value: Any) -> None:  # noqa: ANN401 - whatever msgspec can write
    import json

    import msgspec

    # In ASCII: others wrote much of it, and a terminal obeys more than the first 32 characters.
    text = json.dumps(msgspec.to_builtins(value), indent=2)
    typer.echo(text.replace("\x7f", "\\u007f"))


def _example(text: str) -> str:
    return f"Example: [bold]tacit participant {text}[/bold]"


@keys_app.command("new", epilog=_example("keys new north"))
def keys_new(
    name: Annotated[str, typer.Argument(help="Your organisation.")], profile: Folder = None
) -> None:
    """Draw your keys into NAME.key in your folder, and show the public halves."""
    path = participant.new_key_file(name, _folder(profile))
    typer.echo(f"made {path}: readable by you alone, keep a copy of it in a safe place", err=True)
    _show_key(path)


@keys_app.command("show", epilog=_example("keys show"))
def keys_show(
    key: Annotated[Path | None, typer.Option(help="A key file. Default: yours.")] = None,
    profile: Folder = None,
) -> None:
    """Show your public key and its fingerprint, for the others to pin."""
    _show_key(key or participant.find_key_file(_folder(profile)))


def _show_key(path: Path) -> None:
    from tacit.engine.identity import key_fingerprint, load_keys

    keys = load_keys(path)
    typer.echo(f"{keys.name}\nsigning key  {keys.signing_public}")
    typer.echo(f"fingerprint  {key_fingerprint(keys.signing_public)}")


@app.command(epilog=_example("join https://platform.example:8443 CODE --ca platform.pem"))
def join(
    url: Annotated[str, typer.Argument(help="The platform's address.")],
    code: Annotated[str, typer.Argument(help="Your invitation; it works once.")],
    key: Annotated[Path | None, typer.Option(help="Your key file, if not in your folder.")] = None,
    ca: Annotated[Path | None, typer.Option(help="The platform's certificate, to pin it.")] = None,
    profile: Folder = None,
) -> None:
    """Hand in your invitation. If your access has expired, ask for a new code and join again."""
    import time

    made = participant.join(url, code, profile=_folder(profile), key=key, ca=ca)
    until = time.strftime("%Y-%m-%d", time.localtime(made.expires))
    typer.echo(f"you are {made.account!r} at {made.url} until {until}; profile in {made.folder}")


@app.command(epilog=_example("runs"))
def runs(profile: Folder = None, as_json: AsJson = False) -> None:
    """List your runs."""
    found = participant.runs(_open(profile)[0])
    if as_json:
        _echo_json(found)
        return
    for each in found:
        why = f"  ({each.reason})" if each.reason else ""
        typer.echo(plain_line(f"{each.id}  {each.state:11}  {each.name}{why}"))
    if not found:
        typer.echo("you are a member of no run yet", err=True)


@app.command(epilog=_example("review r-abcdefghij --trust keys.toml --costs costs.csv"))
def review(
    run: Run,
    trust: TrustPath = None,
    write_trust: Annotated[
        Path | None,
        typer.Option(help="Write the keys shown here to a file, to compare them elsewhere."),
    ] = None,
    costs: Costs = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Show what will be disclosed to whom, how much can be inferred, by when, and whose keys.

    Keys given with --trust are remembered if they fit, and count for sign too.
    """
    loaded, run = _open(profile, run)
    pinned = _trust(trust)
    made = participant.review(loaded, run, trust=pinned, costs=costs)
    if as_json:
        _echo_json(participant.review_json(made))
    else:
        typer.echo("\n".join(participant.review_lines(made)))
    loaded.keep_reviewed(run, made.hash)
    if write_trust is not None:
        note = f"as the platform shows them for {run}: compare each with its owner before you trust"
        participant.save_trust(participant.seen_trust(made.agreement), write_trust, note=note)
    made.check()
    if pinned is not None:
        participant.save_trust(pinned, loaded.trust_file)


@app.command(epilog=_example("sign r-abcdefghij"))
def sign(
    run: Run,
    trust: TrustPath = None,
    costs: Costs = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: sign what review has shown.")
    ] = False,
    agreement: Annotated[
        str | None, typer.Option(help="Sign only the agreement with this hash.")
    ] = None,
    profile: Folder = None,
) -> None:
    """Sign the agreement of a run, if every check of review passes. Shows it first, and asks.

    With --yes it signs the agreement that review has shown last, or the one named, and no other.
    """
    loaded, run = _open(profile, run)
    made = participant.review(loaded, run, trust=_trust(trust), costs=costs)
    if not yes:
        typer.echo("\n".join(participant.review_lines(made)))
        loaded.keep_reviewed(run, made.hash)
    made.check()
    if yes or agreement is not None:
        participant.check_is_expected(made, agreement or loaded.reviewed_hash(run))
    if not yes:
        typer.confirm(f"\nSign agreement {made.hash[:16]}... as {made.account!r}?", abort=True)
    after = participant.sign(loaded, run, seen=made)
    typer.echo(plain_line(f"signed {made.hash} as {made.account!r}; the run is {after.state}"))


@app.command(epilog=_example("submit r-abcdefghij costs.csv"))
def submit(
    run: Run,
    costs: Annotated[Path, typer.Argument(help="Your CSV: your rows only, by name or number.")],
    objective: Annotated[str | None, typer.Option(help="Objective, if there are several.")] = None,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Check your costs, split and seal them to the three nodes, and upload the sealed boxes."""
    loaded, run = _open(profile, run)
    done = participant.submit(loaded, run, costs, objective=objective)
    if as_json:
        _echo_json(done)
        return
    why = f": {done.reason}" if done.reason else ""
    what = "sealed and handed in"
    if done.earlier:
        what = "nothing was sent, since rows are sealed once per agreement and yours were before"
    typer.echo(plain_line(f"{what}; the nodes' check is {done.state}{why}"))


@app.command(epilog=_example('withdraw r-abcdefghij --reason "wrong rows"'))
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


@app.command(epilog=_example("result r-abcdefghij --csv > plan.csv"))
def result(
    run: Run,
    as_csv: Annotated[bool, typer.Option("--csv", help="The plan for a spreadsheet.")] = False,
    as_json: AsJson = False,
    profile: Folder = None,
) -> None:
    """Show the plan; your own rows are marked, and log then checks this very plan."""
    import msgspec

    loaded, run = _open(profile, run)
    outcome = participant.result(loaded, run)
    rows = participant.plan_rows(outcome, loaded.signed_agreement(run), loaded.account)
    if as_json:
        _echo_json({**msgspec.structs.asdict(outcome), "rows": rows})
        return
    if not as_csv:
        why = f": {outcome.reason}" if outcome.reason else ""
        typer.echo(plain_line(f"{run} is {outcome.state}{why}"), err=True)
    if outcome.plan is None:
        raise PlatformError(f"{run} is {outcome.state} and has no plan; try again when it has run")
    if as_csv:
        typer.echo(participant.plan_csv(rows), nl=False)
        return
    width = max(len(row) for row, _, _ in rows)
    for row, column, whose in rows:
        typer.echo(plain_line(f"{row:{width}}  {column}{'  *' if whose else ''}"))
    typer.echo("* yours", err=True)


@app.command(epilog=_example("log r-abcdefghij"))
def log(run: Run, profile: Folder = None, as_json: AsJson = False) -> None:
    """Fetch the three nodes' signed logs and check that everybody did what was signed.

    Ends with an exit code other than 0 if anything is off.
    """
    loaded, run = _open(profile, run)
    verdict = participant.check_logs(loaded, run)
    if as_json:
        shown = {"run": run, "state": verdict.state, "ok": verdict.ok}
        _echo_json({**shown, "findings": verdict.findings, "notes": verdict.notes})
    else:
        typer.echo("\n".join(plain_line(line, longest=2000) for line in verdict.lines()))
    verdict.check()
    if not as_json:
        typer.echo("everything is as it was signed")
