"""`tacit run invite`: invitations as files that participants join with."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.printing import AsJson, echo_json
from tacit.cli.run.account import operators_client
from tacit.cli.run.showing import Run, named_run
from tacit.errors import InputError
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import PlatformClient


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
    """Invite the participants of a run, each with a file: address, certificate and one-time code.

    Participants run tacit participant join NAME.tacit. Whoever has the file can join in their
    place, so hand it over privately; to invite somebody again ends the earlier file. Compare the
    fingerprint of the certificate by phone.
    """
    from tacit.client import SUFFIX

    if out is not None and (folder is not None or len(names or ()) != 1):
        raise InputError("--out is the file of one participant; name it, or give --folder")
    written, fingerprint = {}, None
    with operators_client() as client:
        run = named_run(client, run)
        chosen = _invited(client, run, names or [])
        for name in chosen:
            file = client.runs.invitation(run, name)
            path = out or (folder or Path()) / f"{Path(name).name}{SUFFIX}"
            path.parent.mkdir(parents=True, exist_ok=True)
            file.save(path)
            written[name], fingerprint = str(path), file.fingerprint
    if as_json:
        echo_json({"run": run, "files": written, "certificate": fingerprint})
        return
    for name, place in written.items():
        typer.echo(plain_line(f"{name}: {place}"))
    if not written:
        typer.echo("all participants have joined already; name one to invite it again", err=True)
    elif fingerprint is not None:
        typer.echo(f"certificate, to compare by phone: {fingerprint}", err=True)


def _invited(client: PlatformClient, run: str, names: list[str]) -> list[str]:
    """Whom to write files for; a draft's participants are invited first."""
    seen = client.runs.show(run)
    if seen.state == "draft":
        # Its codes are not needed: each file has a new one, and ends the one before.
        seen = client.runs.invite(run)
    known = [each.name for each in seen.members]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"{unknown[0]!r} takes no part in {run}; choose from {', '.join(known)}")
    return names or [each.name for each in seen.members if not each.joined]
