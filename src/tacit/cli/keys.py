"""`tacit keys`: make and show key files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Make and show key files.")


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="Name of the owner.")],
    out: Annotated[Path, typer.Option(help="File to write, readable by you alone.")],
) -> None:
    """Draw a key to sign with and a key that others seal to."""
    from tacit.engine.identity import Keys, save_keys

    keys = Keys.new(name)
    save_keys(keys, out)
    show_keys(keys.name, keys.signing_public, keys.sealing_public)


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="A key file.")],
    address: Annotated[
        str | None,
        typer.Option(
            help="Where the node with these keys is, host:port: print an entry of a trust file."
        ),
    ] = None,
) -> None:
    """Print the public halves, to compare over another channel.

    With --address it is what a node's operator gives to participants, for them to pin.
    """
    from tacit.engine.identity import load_keys

    keys = load_keys(path)
    if address is not None:
        from tacit.engine.identity import parse_address
        from tacit.participant import node_entry, trust_text

        parse_address(address)
        typer.echo(trust_text(node_entry(keys, address)), nl=False)
        return
    show_keys(keys.name, keys.signing_public, keys.sealing_public)


def show_keys(name: str, signing: str, sealing: str) -> None:
    """Print the public halves of somebody's keys."""
    from tacit.engine.identity import key_fingerprint

    typer.echo(f"{name}\nsigning key  {signing}\nsealing key  {sealing}")
    typer.echo(f"to compare by phone: signs {key_fingerprint(signing)}")
    typer.echo(f"                     opens {key_fingerprint(sealing)}")
