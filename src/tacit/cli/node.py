"""`tacit node`: run one node of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Run one node of a cluster.")


@app.callback()
def _group() -> None:
    """Run one node of a cluster."""


@app.command(epilog="Example: [bold]tacit node run --config node-0.toml[/bold]")
def run(
    config: Annotated[Path, typer.Option(help="The node's file, made by tacit cluster new.")],
) -> None:
    """Run a node until Ctrl-C or SIGTERM; what it holds stays on its disk."""
    from tacit.engine.identity import load_node_config
    from tacit.engine.node import log_as_json_lines, run_node

    log_as_json_lines()
    loaded = load_node_config(config)
    typer.echo(f"node {loaded.node} listens at {loaded.listen}", err=True)
    run_node(loaded)
