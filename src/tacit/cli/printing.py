"""Options and output that commands share: examples in help, lines for a terminal, JSON."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.errors import InputError
from tacit.plain_text import plain_line, wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from tacit.client import ListedRun
    from tacit.verify import Verdict

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Command = tuple[str, Callable[..., None], *tuple[str, ...]]
"""A command's name, its function, and the arguments of its examples."""
LONGEST_LINE = 2000


def example(*commands: str) -> str:
    """The epilog of a command; blank lines keep several examples apart when help is printed."""
    if len(commands) == 1:
        return f"Example: [bold]tacit {commands[0]}[/bold]"
    lines = [f"tacit {each}".replace("[", "\\[") for each in commands]
    return "\n\n".join(["[bold]Examples[/bold]", *lines])


def command_group(name: str, purpose: str, /, *commands: Command, epilog: str = "") -> typer.Typer:
    """A group of commands from one table, in the order in which its help lists them."""
    group = typer.Typer(
        no_args_is_help=True, rich_markup_mode="rich", help=purpose, epilog=epilog or None
    )
    for command, function, *arguments in commands:
        words = [f"{name} {command} {each}".strip() for each in arguments or [""]]
        group.command(command, epilog=example(*words))(function)
    return group


def terminal(*, stderr: bool = False, highlight: bool = True) -> Console:
    """A console for tables and progress."""
    from rich.console import Console

    # Words between colons are no pictures: `pareto:top:5` must stay as it is.
    return Console(stderr=stderr, highlight=highlight, emoji=False)


def echo(line: object, /, *, err: bool = False) -> None:
    """Print a line that may have words of others in it: nothing of it moves a terminal."""
    # Control characters in a name or reason could rewrite what the terminal shows above it.
    typer.echo(plain_line(line, longest=LONGEST_LINE), err=err)


def echo_lines(lines: Iterable[str], /, *, err: bool = False) -> None:
    """Print lines; a terminal gets them broken between words, a file as they are."""
    stream = sys.stderr if err else sys.stdout
    if stream.isatty():
        # A file keeps long lines, so that a search finds words across what would be a break.
        lines = wrapped(lines, shutil.get_terminal_size().columns)
    for line in lines:
        typer.echo(line, err=err)


def echo_json(value: Any, /, *, indent: int | None = 2) -> None:  # noqa: ANN401 - what msgspec can write
    """Print JSON in ASCII: others wrote much of it, and a terminal obeys many characters."""
    import json

    import msgspec

    # ASCII alone, where JSON escapes control characters; DEL is ASCII and needs an escape of its
    # own.
    text = json.dumps(msgspec.to_builtins(value), indent=indent)
    typer.echo(text.replace("\x7f", "\\u007f"))


def echo_runs(found: Sequence[ListedRun], /, *, none: str, as_json: bool) -> None:
    """Print a list of runs, or say that there is none."""
    if as_json:
        echo_json(found)
        return
    for each in found:
        why = f"  ({each.reason})" if each.reason else ""
        echo(f"{each.id}  {each.state:11}  {each.name}{why}")
    if not found:
        typer.echo(none, err=True)


def echo_verdict(verdict: Verdict, /, *, as_json: bool) -> None:
    """Print what a check found; raises an error if anything is off."""
    if as_json:
        shown = {"run": verdict.run, "state": verdict.state, "ok": verdict.ok}
        echo_json({**shown, "findings": verdict.findings, "notes": verdict.notes})
    else:
        echo_lines(plain_line(line, longest=LONGEST_LINE) for line in verdict.lines())
    verdict.check()


def iso_time(at: float | None, /) -> str:
    """A time in UTC, or nothing.

    >>> iso_time(1_000_000_000)
    '2001-09-09T01:46:40Z'
    """
    return "" if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def status_code(critical: Sequence[str], warnings: Sequence[str], /) -> int:
    """The exit code of a status, as monitoring plugins have it: 0, 1 for warnings, 2 if worse."""
    return 2 if critical else 1 if warnings else 0


def echo_findings(critical: Sequence[str], warnings: Sequence[str], /, *, well: str) -> None:
    """Print what needs attention, the worst first; without anything, that all is well."""
    # Monitors show the first line alone.
    for kind, found in (("critical", critical), ("warning", warnings)):
        for each in found:
            echo(f"{kind}: {each}")
    if not critical and not warnings:
        echo(f"ok: {well}")


def check_writable(path: Path | None, /) -> None:
    """Refuse a place that cannot be written before the work starts, not after it."""
    if path is None:
        return
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}; create it")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file in it")
