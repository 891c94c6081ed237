"""`tacit series`: operators create series, copy runs of them and end them, through the API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.printing import AsJson, echo_json, example
from tacit.cli.run.account import json_object, operators_client, sign_in
from tacit.cli.run.showing import named_run
from tacit.errors import InputError
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import PlatformClient, SeriesView

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Series of runs that are signed once (operators).",
    epilog="In order: sign-in, new, show, run; participants use tacit participant follow.",
)

Series = Annotated[str, typer.Argument(help="The series, by its id or its name.")]


def _named(client: PlatformClient, series: str) -> str:
    """The id of a series that was given by its id or its name."""
    if series.startswith("s-"):
        return series
    found = [each.id for each in client.series.all() if each.name == series]
    if len(found) != 1:
        many = "several series have" if found else "no series has"
        raise InputError(f"{many} the name {series!r}; give the id that tacit series list shows")
    return found[0]


app.command("sign-in", epilog=example("series sign-in ops.tacit"))(sign_in)


def _show(made: SeriesView, *, as_json: bool) -> None:
    if as_json:
        echo_json(made)
        return
    typer.echo(plain_line(f"{made.id}  {made.state}  {made.name}"))
    if made.hash:
        typer.echo(f"hash     {made.hash}")
    for each in made.members:
        how = "signed" if each.signed else "joined" if each.joined else "invited"
        typer.echo(plain_line(f"  {each.name}  {how}"))
    for run in made.its_runs:
        typer.echo(plain_line(f"  run {run.number}  {run.id}  {run.state}"))
    for name, code in made.invitations.items():
        typer.echo(plain_line(f"invitation of {name} (shown once): {code}"))


@app.command(
    epilog=example("series new --like r-abcdefghij --name daily --runs-per-day 2 --at 06:00")
)
def new(
    terms: Annotated[Path | None, typer.Argument(help="The terms as JSON.")] = None,
    like: Annotated[
        str | None,
        typer.Option(help="In place of terms: a run as the pattern, or a series to copy (s-...)."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Its name.")] = None,
    runs_per_day: Annotated[
        int | None, typer.Option(min=1, help="At most, in any 23.5 hours. Default: 1")
    ] = None,
    days: Annotated[float | None, typer.Option(help="So long it stands. Default: 90")] = None,
    every: Annotated[int | None, typer.Option(help="Start a run every so many minutes.")] = None,
    at: Annotated[list[str] | None, typer.Option(help="Start a run daily at HH:MM (UTC).")] = None,
    equity: Annotated[
        bool | None,
        typer.Option("--equity/--no-equity", help="Even out over the runs who gains."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a series and invite its participants, who then sign it once."""
    if (terms is None) == (like is None):
        raise InputError("give a file with terms, or a run or series with --like, and not both")
    if every is not None and at:
        raise InputError("runs start every so many minutes, or at times of day; give one of them")
    when: dict[str, Any] | None = {"at": sorted(at)} if at else None
    when = {"every_minutes": every} if every is not None else when
    with operators_client() as client:
        asked = json_object(terms) if terms is not None else _like(client, str(like))
        given = {
            "name": name,
            "runs_per_day": runs_per_day,
            "days": days,
            "schedule": when,
        }
        asked |= {key: value for key, value in given.items() if value is not None}
        if equity is not None:
            asked["equity"] = (asked.get("equity") or {}) if equity else None
        _show(client.series.new(asked), as_json=as_json)


def _like(client: PlatformClient, like: str) -> dict[str, Any]:
    """The terms of another series, or of one with a run as its pattern."""
    import msgspec

    if not like.startswith("s-"):
        pattern = client.runs.terms(named_run(client, like))
        return {"name": pattern.name, "run": msgspec.to_builtins(pattern)}
    copied: dict[str, Any] = msgspec.to_builtins(client.series.show(like).terms)
    return copied


@app.command("list", epilog=example("series list"))
def list_all(as_json: AsJson = False) -> None:
    """List all series."""
    with operators_client() as client:
        found = client.series.all()
    if as_json:
        echo_json(found)
        return
    for each in found:
        typer.echo(plain_line(f"{each.id}  {each.state:8} {each.runs:4}  {each.name}"))


@app.command(epilog=example("series show s-abcdefghij"))
def show(series: Series, as_json: AsJson = False) -> None:
    """Show who has signed a series, and its runs."""
    with operators_client() as client:
        _show(client.series.show(_named(client, series)), as_json=as_json)


@app.command(epilog=example("series run s-abcdefghij --changes tuesday.json"))
def run(
    series: Series,
    changes: Annotated[
        Path | None,
        typer.Option(help="JSON: name, problem, participants and reference, as they differ."),
    ] = None,
    draft: Annotated[
        bool, typer.Option("--draft", help="Leave it for the schedule's next time.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start the next run: a copy of the last one, with what is different."""
    asked = {} if changes is None else json_object(changes)
    with operators_client() as client:
        made = client.series.next_run(_named(client, series), asked, start=not draft)
    if as_json:
        echo_json(made)
        return
    for warning in made.warnings:
        typer.echo(plain_line(f"Note: {warning}"), err=True)
    typer.echo(plain_line(f"run {made.series_number}  {made.id}  {made.state}"))


@app.command(epilog=example('series end s-abcdefghij --reason "new nodes"'))
def end(
    series: Series,
    reason: Annotated[str, typer.Option(help="Reason that the others are shown.")] = "",
) -> None:
    """Make no more runs of a series; what runs goes on."""
    with operators_client() as client:
        client.series.end(_named(client, series), reason=reason)
    typer.echo(f"{series} has ended")
