"""A run by its id or its name, and in a few lines."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli.printing import echo_json
from tacit.cli.run.watching import progress_words, waits_for
from tacit.errors import InputError
from tacit.plain_text import plain_line

if TYPE_CHECKING:
    from tacit.client import ClusterView, PlatformClient, RunView

Run = Annotated[str, typer.Argument(help="The run, by its id or its name.")]


def named_run(client: PlatformClient, run: str) -> str:
    """The id of a run that was given by its id or its name."""
    if run.startswith("r-"):
        return run
    found = [each.id for each in client.runs.all() if each.name == run]
    if len(found) != 1:
        many = "several runs have" if found else "no run has"
        raise InputError(f"{many} the name {run!r}; give the id that tacit run list shows")
    return found[0]


def show_run(seen: RunView, /, *, as_json: bool) -> None:
    """Print a run."""
    if as_json:
        echo_json(seen)
        return
    why = f" ({seen.reason})" if seen.reason else ""
    typer.echo(plain_line(f"{seen.id}  {seen.state}{why}  {seen.name}"))
    if waits := waits_for(seen):
        typer.echo(plain_line(waits.removeprefix(", ")))
    for each in seen.members:
        how = "signed" if each.signed else "joined" if each.joined else "invited"
        typer.echo(plain_line(f"  {each.name}  {how}, inputs {each.submission_state}"))
    if seen.progress is not None:
        typer.echo(progress_words(seen.progress.generation, seen.progress.steps))
    for warning in seen.warnings:
        typer.echo(plain_line(f"Note: {warning}"), err=True)
    for name, code in getattr(seen, "invitations", {}).items():
        typer.echo(plain_line(f"invitation of {name} (shown once): {code}"))


def missing_nodes(clusters: Iterable[ClusterView], seen: RunView, /) -> list[str]:
    """The nodes of a run that the platform cannot reach, and since when."""
    lines = []
    for cluster in clusters:
        if cluster.name != seen.cluster:
            continue
        for number, node in enumerate(cluster.nodes):
            if not node.reachable:
                at = None if node.last_seen is None else time.localtime(node.last_seen)
                since = "" if at is None else f" since {time.strftime('%H:%M:%S', at)}"
                named = f"node {number} ({node.host}:{node.port})"
                lines.append(plain_line(f"Note: {named} cannot be reached{since}"))
    return lines
