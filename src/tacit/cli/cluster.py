"""`tacit cluster`: keys, certificates and config files for a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Set up a cluster of nodes.")

FIRST_PORT = 9000


@app.callback()
def _group() -> None:
    """Set up a cluster of nodes."""


EXAMPLE = (
    "tacit cluster new cluster --host n0.example:9000 --host n1.example:9000 --host n2.example:9000"
)


@app.command(epilog=f"Example: [bold]{EXAMPLE}[/bold]")
def new(
    folder: Annotated[Path, typer.Argument(help="A new folder for all files.")],
    host: Annotated[
        list[str] | None,
        typer.Option(help="host:port of a node; give three or four. Default: this machine."),
    ] = None,
    nodes: Annotated[
        int, typer.Option(min=3, max=4, help="How many nodes, where no host is given.")
    ] = 3,
) -> None:
    """Make keys, pinned certificates, node-0.toml and so on and cluster.toml in one go.

    Give each node's operator the files that begin with its name and the .pem files of all.
    """
    from tacit.engine.identity import write_cluster

    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; give a new folder")
    addresses = host or [f"127.0.0.1:{FIRST_PORT + i}" for i in range(nodes)]
    for path in write_cluster(folder, addresses):
        typer.echo(path)
