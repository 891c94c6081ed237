"""How commands print: lines for a terminal, JSON for programs, and the example in their help."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.plain_text import plain_line, wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from tacit.client import RunSummary

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def example(text: str, /) -> str:
    """The epilog of a command."""
    return f"Example: [bold]tacit {text}[/bold]"


def terminal(*, stderr: bool = False, highlight: bool = True) -> Console:
    """Where tables and progress go. Words between colons stand: `pareto:top:5` has no picture."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=highlight, emoji=False)


def echo_lines(lines: Iterable[str], /, *, err: bool = False) -> None:
    """Print lines; a terminal gets them broken between words, a file as they are."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        lines = wrapped(lines, shutil.get_terminal_size().columns)
    for line in lines:
        typer.echo(line, err=err)


def echo_json(value: Any, /) -> None:  # noqa: ANN401 - whatever msgspec can write
    """Print JSON in ASCII: others wrote much of it, and a terminal obeys many characters."""
    import json

    import msgspec

    text = json.dumps(msgspec.to_builtins(value), indent=2)
    typer.echo(text.replace("\x7f", "\\u007f"))


def echo_runs(found: Sequence[RunSummary], /, *, none: str, as_json: bool) -> None:
    """Print a list of runs, or say that there is none."""
    if as_json:
        echo_json(found)
        return
    for each in found:
        why = f"  ({each.reason})" if each.reason else ""
        typer.echo(plain_line(f"{each.id}  {each.state:11}  {each.name}{why}"))
    if not found:
        typer.echo(none, err=True)
