"""`tacit cluster`: put nodes of several operators, or all of one trial, together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.printing import AsJson, echo_json, example
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
    """For a trial: make keys, certificates and config files of all nodes in one go.

    Whoever runs this has had the keys of all; in production use tacit node init and cluster join.
    Give each node's operator the files that begin with its name and the .pem files of all.
    """
    from tacit.identity import write_cluster

    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; give a new folder")
    addresses = host or [f"127.0.0.1:{FIRST_PORT + i}" for i in range(nodes)]
    for path in write_cluster(folder, addresses):
        typer.echo(path)


@app.command(epilog=example("cluster init cluster --name desk"))
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder for the platform's side.")],
    name: Annotated[str, typer.Option(help="A short name of the platform: a-z, 0-9, dashes.")],
    as_json: AsJson = False,
) -> None:
    """Make what a platform shows its nodes, and the public half for their operators.

    Send NAME.public.toml to the operators of all nodes. When you have theirs, run tacit cluster
    join.
    """
    from tacit.cli.keys import show_halves
    from tacit.identity import new_platform

    half = new_platform(folder, name)
    show_halves([half], as_json=as_json, file=folder / f"{name}.public.toml")


@app.command(
    epilog=example("cluster join alpha beta.public.toml gamma.public.toml desk.public.toml")
)
def join(
    folder: Annotated[Path, typer.Argument(help="Your folder, of node init or cluster init.")],
    files: Annotated[list[Path], typer.Argument(help="The public halves of all others.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Where somebody is pinned already, take the new one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Put the public halves of all nodes and the platform together, each operator at home.

    Pins their certificates and writes your node.toml or cluster.toml. Nodes are numbered by their
    names. Your own public half may be among the files. Then compare the last line by phone with
    every other operator: whoever has the same one has the same keys.
    """
    from tacit.cli.keys import half_table, show_halves
    from tacit.identity import join_cluster

    joined = join_cluster(folder, files, replace=replace)
    halves = [*joined.nodes, *joined.platforms]
    if as_json:
        echo_json(
            {
                "config": str(joined.config),
                "node": joined.nodes.index(joined.own) if joined.own.kind == "node" else None,
                "nodes": [half_table(each) for each in joined.nodes],
                "platforms": [half_table(each) for each in joined.platforms],
                "fingerprint": joined.fingerprint,
            }
        )
        return
    typer.echo(joined.config)
    show_halves(halves, own=joined.own.name)
    typer.echo(f"all together: {joined.fingerprint}")
    typer.echo(
        "compare this line by phone with every other operator before you start; if it differs, "
        "compare the lines above it",
        err=True,
    )
