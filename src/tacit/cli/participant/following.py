"""`series`, `follow` and `balance`: sign a series once, then leave it to this machine."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from tacit import participant
from tacit.cli.participant.profile import Folder, ask, folder_of
from tacit.cli.printing import AsJson, echo_json, echo_lines
from tacit.errors import InputError, TrustError
from tacit.plain_text import plain_line

Name = Annotated[str, typer.Argument(help="The series, by its id or its name.")]


def _named(profile: participant.Profile, series: str) -> str:
    if series.startswith("s-"):
        return series
    found = [each.id for each in participant.series_of(profile) if each.name == series]
    if len(found) != 1:
        many = "several series have" if found else "no series of yours has"
        raise InputError(f"{many} the name {series!r}; tacit participant series lists yours")
    return found[0]


def series(profile: Folder = None, as_json: AsJson = False) -> None:
    """List your series: standing agreements, each signed once."""
    loaded = participant.load_profile(folder_of(profile))
    found = participant.series_of(loaded)
    if as_json:
        echo_json(found)
        return
    for each in found:
        signed = "signed here" if participant.signed_series(loaded, each.id) else "not signed here"
        typer.echo(plain_line(f"{each.id}  {each.state:8}  {signed}  {each.name}"))
    if not found:
        typer.echo("you are a member of no series yet", err=True)


def balance(name: Name, profile: Folder = None, as_json: AsJson = False) -> None:
    """Show what the runs of a series have told you of balances.

    It is what the nodes sealed to your key, from the logs that this machine has checked: follow
    does that by itself, log for a single run.
    """
    loaded = participant.load_profile(folder_of(profile))
    series_id = _named(loaded, name)
    signed = participant.signed_series(loaded, series_id)
    if signed is None:
        raise InputError(
            f"this machine has not signed series {series_id}; tacit participant series lists yours"
        )
    if signed.equity is None:
        raise InputError(f"series {series_id} keeps no balances; each of its runs is for itself")
    known = participant.counted_runs(loaded, series_id)
    if as_json:
        echo_json(known)
        return
    for each in known:
        told = "; ".join(participant.account_words(each))
        typer.echo(plain_line(f"run {each.number} ({each.run}): {told}", longest=2000))
    if not known:
        typer.echo("no run whose logs were checked here counts for balances yet", err=True)


def _costs(costs: Path | None, command: str | None) -> participant.AnyCosts | None:
    if costs is not None and command is not None:
        raise InputError("costs come from --costs or from --command; give one of them")
    if command is not None:
        try:
            words = shlex.split(command)
        except ValueError as error:  # a quotation mark without its other half
            raise InputError(f"--command {command!r} is not whole ({error}); correct it") from None
        return participant.CommandCosts(words)
    return None if costs is None else participant.FileCosts(costs)


def _sign(
    loaded: participant.Profile, name: str, *, unpinned: bool, yes: bool, expected: str | None
) -> None:
    """Show a series that is not signed yet, ask, and sign it; nothing if it is signed."""
    if participant.signed_series(loaded, name) is not None:
        return
    made = participant.review_series(loaded, name, unpinned=unpinned)
    seen = participant.reviewed_series(loaded, name)
    if not yes:
        echo_lines(participant.series_lines(made))
        participant.keep_reviewed_series(loaded, name, made.hash)
    made.check()
    if yes and (expected or seen) is None:
        raise TrustError(
            f"nobody has read series {name} here; run tacit participant follow {name} --review, "
            "or name it with --series HASH"
        )
    if (yes or expected is not None) and made.hash != (expected or seen or "").strip().lower():
        raise TrustError(
            f"the platform now shows series {made.hash[:16]}..., and not the one to sign; nothing "
            "was signed: see what is different"
        )
    if not yes:
        question = f"\nSign series {made.hash[:16]}... as {made.account!r}?"
        if not ask(question):
            raise typer.Abort
    participant.sign_reviewed_series(loaded, made)
    typer.echo(f"signed series {made.hash} as {made.account!r}")


def follow(
    series: Name,
    costs: Annotated[
        Path | None, typer.Option(help="Your CSV, or a folder with NUMBER.csv or costs.csv.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="A program that fills in the CSV on its standard input.")
    ] = None,
    results: Annotated[Path | None, typer.Option(help="A folder for the plans.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Seal costs that you sealed for other runs before.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check the nodes' logs after each run.")
    ] = True,
    unseen: Annotated[
        int,
        typer.Option(
            min=1, max=100, help="Sign no more after so many runs whose logs were never shown."
        ),
    ] = 3,
    once: Annotated[bool, typer.Option("--once", help="Do what there is to do now, and end.")] = (
        False
    ),
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    review: Annotated[
        bool, typer.Option("--review", help="Show the series, sign nothing, and end.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask: sign the series that --review has shown.")
    ] = False,
    series_hash: Annotated[
        str | None, typer.Option("--series", help="Sign only the series with this hash.")
    ] = None,
    unpinned: Annotated[
        bool, typer.Option("--unpinned", help="Nothing is pinned: believe the platform.")
    ] = False,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Sign a series once, then sign its runs and seal your costs by itself.

    Each run is held against the series that was signed here; one outside it is refused. Ends with
    Ctrl-C, or with an error if the nodes' logs show that somebody did not keep to a run.
    """
    loaded = participant.load_profile(folder_of(profile))
    name = _named(loaded, series)
    if review:
        made = participant.review_series(loaded, name, unpinned=unpinned)
        if as_json:
            echo_json(participant.series_json(made))
        else:
            echo_lines(participant.series_lines(made))
        participant.keep_reviewed_series(loaded, name, made.hash)
        made.check()
        return
    source = _costs(costs, command)
    _sign(loaded, name, unpinned=unpinned, yes=yes, expected=series_hash)
    follower = participant.Follower(
        loaded,
        name,
        source,
        lambda line: typer.echo(plain_line(line, longest=2000)),
        again=again,
        results=results,
        check=check,
        unseen=unseen,
    )
    participant.follow(follower, every=every, once=once)
