"""`tacit series`: operators create series, copy runs of them and end them, through the API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.cli.participant_profile import AsJson, echo_json
from tacit.errors import FileError, InputError
from tacit.participant import PlatformClient, plain_line

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Series of runs that are signed once (operators).",
    epilog="In order: sign-in, new, show, run; participants use tacit participant follow.",
)

Series = Annotated[str, typer.Argument(help="The series, by its id.")]


def _folder() -> Path:
    from tacit.participant import default_folder

    return default_folder() / "operator"


def _client() -> PlatformClient:
    """A connection with the operator's token, from the environment or from `sign-in`."""
    import msgspec

    url, token, ca = (os.environ.get(name) for name in ("TACIT_URL", "TACIT_TOKEN", "TACIT_CA"))
    if url and token:
        return PlatformClient(url, token=token, ca=Path(ca) if ca else None)
    path = _folder() / "account.json"
    if not path.exists():
        raise FileError(path, None, "is not there", "run tacit series sign-in URL CODE first")
    from tacit.files import check_secret

    check_secret(path, remedy="sign in again")
    kept = msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    pinned = _folder() / "ca.pem"
    return PlatformClient(kept["url"], token=kept["token"], ca=pinned if pinned.exists() else None)


def _example(text: str) -> str:
    return f"Example: [bold]tacit series {text}[/bold]"


@app.command("sign-in", epilog=_example("sign-in https://platform.example:8443 CODE --ca a.pem"))
def sign_in(
    url: Annotated[str, typer.Argument(help="The platform's address.")],
    code: Annotated[str, typer.Argument(help="An operator's invitation; it works once.")],
    ca: Annotated[Path | None, typer.Option(help="The platform's certificate, to pin it.")] = None,
) -> None:
    """Hand in an operator's invitation; the token is kept for you alone and shown nowhere."""
    import msgspec

    from tacit.engine.identity import read_certificate
    from tacit.files import replace_secret

    folder = _folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if ca is not None:
        # Kept before anything is asked: an invitation works only once.
        replace_secret(folder / "ca.pem", read_certificate(ca).encode())
    pinned = folder / "ca.pem"
    with PlatformClient(url, ca=pinned if pinned.exists() else None) as client:
        joined = client.post("/join", {"code": code, "label": "tacit series"}, dict[str, Any])
    if joined["role"] != "operator":
        raise InputError(f"this is the invitation of a {joined['role']}; take an operator's")
    kept = {"url": client.url, "account": joined["account"], "token": joined["token"]}
    replace_secret(folder / "account.json", msgspec.json.encode(kept))
    typer.echo(plain_line(f"you are {joined['account']!r} at {client.url}"))


def _json_file(path: Path) -> Any:  # noqa: ANN401 - whatever the platform then refuses
    import json

    from tacit.files import read_text

    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise FileError(path, None, f"is not JSON ({error})", "correct it") from None


def _show(made: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        echo_json(made)
        return
    typer.echo(plain_line(f"{made['id']}  {made['state']}  {made['name']}"))
    if made.get("hash"):
        typer.echo(f"hash     {made['hash']}")
    for each in made["members"]:
        how = "signed" if each["signed"] else "joined" if each["joined"] else "invited"
        typer.echo(plain_line(f"  {each['name']}  {how}"))
    for each in made["its_runs"]:
        typer.echo(plain_line(f"  run {each['number']}  {each['id']}  {each['state']}"))
    for name, code in made.get("invitations", {}).items():
        typer.echo(plain_line(f"invitation of {name} (shown once): {code}"))


@app.command(epilog=_example("new --like r-abcdefghij --name daily --runs-per-day 2 --at 06:00"))
def new(
    terms: Annotated[Path | None, typer.Argument(help="The terms as JSON.")] = None,
    like: Annotated[
        str | None, typer.Option(help="In place of terms: the run to take as the pattern.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Its name.")] = None,
    runs_per_day: Annotated[int, typer.Option(min=1, help="At most, in any 24 hours.")] = 1,
    days: Annotated[float, typer.Option(help="So long it stands.")] = 90.0,
    every: Annotated[int | None, typer.Option(help="Start a run every so many minutes.")] = None,
    at: Annotated[list[str] | None, typer.Option(help="Start a run daily at HH:MM (UTC).")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a series and invite its participants, who then sign it once."""
    if (terms is None) == (like is None):
        raise InputError("give a file with terms, or a run with --like, and not both")
    with _client() as client:
        if terms is not None:
            asked = _json_file(terms)
        else:
            pattern = client.get(f"/runs/{like}", dict[str, Any])["terms"]
            asked = {"name": name or pattern["name"], "run": pattern}
            asked |= {"runs_per_day": runs_per_day, "days": days}
            if every is not None or at:
                when: dict[str, Any] = {"at": sorted(at)} if at else {"every_minutes": every}
                asked["schedule"] = when
        _show(client.post("/series", asked, dict[str, Any]), as_json=as_json)


@app.command("list", epilog=_example("list"))
def list_all(as_json: AsJson = False) -> None:
    """List all series."""
    with _client() as client:
        found = client.get("/series", list[dict[str, Any]])
    if as_json:
        echo_json(found)
        return
    for each in found:
        typer.echo(plain_line(f"{each['id']}  {each['state']:8} {each['runs']:4}  {each['name']}"))


@app.command(epilog=_example("show s-abcdefghij"))
def show(series: Series, as_json: AsJson = False) -> None:
    """Show who has signed a series, and its runs."""
    with _client() as client:
        _show(client.get(f"/series/{series}", dict[str, Any]), as_json=as_json)


@app.command(epilog=_example("run s-abcdefghij --changes tuesday.json"))
def run(
    series: Series,
    changes: Annotated[
        Path | None, typer.Option(help="JSON: name, problem and participants, as they differ.")
    ] = None,
    draft: Annotated[
        bool, typer.Option("--draft", help="Leave it for the schedule's next time.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Start the next run: a copy of the last one, with what is different."""
    asked = {} if changes is None else _json_file(changes)
    if not isinstance(asked, dict):
        raise InputError("the changes are not a JSON object; give name, problem or participants")
    with _client() as client:
        made = client.post(f"/series/{series}/runs", {**asked, "start": not draft}, dict[str, Any])
    if as_json:
        echo_json(made)
        return
    for warning in made["warnings"]:
        typer.echo(plain_line(f"Note: {warning}"), err=True)
    typer.echo(plain_line(f"run {made['series_number']}  {made['id']}  {made['state']}"))


@app.command(epilog=_example('end s-abcdefghij --reason "new nodes"'))
def end(
    series: Series,
    reason: Annotated[str, typer.Option(help="Reason that the others are shown.")] = "",
) -> None:
    """Make no more runs of a series; what runs goes on."""
    with _client() as client:
        body = {"reason": reason} if reason else {}
        client.post(f"/series/{series}/end", body, dict[str, Any])
    typer.echo(f"{series} has ended")
