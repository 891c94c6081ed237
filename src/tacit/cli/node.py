"""`tacit node`: set up and run one node of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.printing import AsJson, example

app = typer.Typer(no_args_is_help=True, help="Set up and run one node of a cluster.")


@app.callback()
def _group() -> None:
    """Set up and run one node of a cluster."""


@app.command(epilog=example("node init alpha --name alpha --address alpha.example:9000"))
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder for the node's files.")],
    name: Annotated[str, typer.Option(help="A short name of the operator: a-z, 0-9, dashes.")],
    address: Annotated[str, typer.Option(help="host:port where the others find the node.")],
    listen: Annotated[
        str | None,
        typer.Option(
            help="host:port to listen at. Default: the same port on all addresses of this machine."
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Where it stores. Default: NAME.data in the folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a node's own key and certificate, node.toml, and the public half for the others.

    Send NAME.public.toml to the operators of the other nodes, of the platform, and to participants.
    Nothing else leaves this machine. When you have those of all, run tacit cluster join.
    """
    from tacit.cli.keys import show_halves
    from tacit.identity import new_node

    half = new_node(folder, name, address, listen=listen, data=data)
    show_halves([half], as_json=as_json, file=folder / f"{name}.public.toml")


@app.command(epilog=example("node run --config alpha/node.toml"))
def run(
    config: Annotated[
        Path, typer.Option(help="The node's file, made by tacit node init or cluster new.")
    ],
) -> None:
    """Run a node until Ctrl-C or SIGTERM; what it holds stays on its disk."""
    from tacit.files import check_user
    from tacit.identity import load_node_config
    from tacit.node import log_as_json_lines, run_node

    log_as_json_lines()
    loaded = load_node_config(config)
    check_user(Path(loaded.folder) / loaded.data)
    typer.echo(f"node {loaded.node} listens at {loaded.listen}", err=True)
    run_node(loaded)
