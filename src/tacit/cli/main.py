"""The `tacit` command: its subcommands, and how errors reach the user."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

import tacit
from tacit.cli.printing import example
from tacit.errors import InputError, TacitError
from tacit.local import shared_fork_server
from tacit.plain_text import plain_line

# Typer and Click say what is wrong and not what to do: these become the remedies of our own errors.
_WORDS = (
    (r"Value error, ", ""),
    (r"Input should be a valid integer.*", "give a whole number"),
    (r"Input should be a valid number.*", "give a number"),
    (r"Input should be greater than or equal to (\S+)", r"give at least \1"),
    (r"Input should be less than or equal to (\S+)", r"give at most \1"),
    (r"^No such (command|option):? '?([^' ]+)'?", r"there is no \1 \2"),
    (r"\. Did you mean '([^']+)'\?", r"; did you mean \1?"),
    (r" \(Possible options: ([^,)]+).*\)", r"; did you mean \1?"),
    (r"^Got unexpected extra argument(?:s|\(s\))? \((.*)\)", r"leave out what is too much: \1"),
    (r"^Option '([^']+)' requires an argument", r"give a value after \1"),
)


def usage_words(error: Any, /) -> str:  # noqa: ANN401 - Typer exports its errors under no name
    """One sentence: what is wrong, what to do, and where all options are listed.

    >>> import typer
    >>> usage_words(typer.BadParameter("Input should be less than or equal to 4"))
    'Invalid value: give at most 4; see tacit --help'
    """
    command = error.ctx.command_path if error.ctx is not None else "tacit"
    message = " ".join(error.format_message().split()).rstrip(".")
    for pattern, words in _WORDS:
        message = re.sub(pattern, words, message)
    missing = re.fullmatch(r"Missing (?:argument|option) '([^']+)'", message)
    meaning = getattr(getattr(error, "param", None), "help", None)
    if missing and meaning:
        # The help of a parameter begins a sentence of its own, and may have several.
        name = missing[1] if missing[1].startswith("-") else missing[1].upper()
        message = f"give {name}: {meaning[:1].lower()}{meaning[1:].rstrip('.')}"
    return f"{message}{' See' if message.endswith('?') else '; see'} {command} --help"


UsageError: Any = typer.BadParameter.__mro__[1]
"""The error of a wrong option; Typer exports this base class under no name of its own."""

LONGEST_ERROR = 4000
INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""
REMEDIES = {
    errno.EACCES: "use a file or folder that you may use, or have its owner let you",
    errno.EPERM: "use a file or folder that you may use, or have its owner let you",
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room on the disk",
    errno.EROFS: "choose another place",
    errno.ENOTDIR: "check the path",
}
"""Remedies for errors of the operating system, whichever command meets them."""
GROUPS = (
    *("instance", "node", "keys", "cluster", "log", "bench", "experiment"),
    *("participant", "service", "run", "series"),
)
HOMES = {
    "node": ("nodes", "node_app"),
    "cluster": ("nodes", "cluster_app"),
    "run": ("operator", "run_app"),
    "series": ("operator", "series_app"),
}
"""Groups that share a module, and their names in it; any other is the `app` of its own module."""
COMMANDS = ("solve", "tune", "audit", "demo")
STUDIES = ("bench", "experiment", "tune")
"""Commands of the package `studies`, which stands beside `src` in a clone and in no release."""


def make_app(first: str | None = None, /) -> typer.Typer:
    """The command with the subcommand that is called for, or with all, to list them.

    A node, which installs light, must not import what a search needs, and nobody waits for what
    another command needs.
    """
    app = typer.Typer(
        name="tacit",
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        help="Find a near-optimal plan before the deadline without anybody seeing anybody's costs.",
        epilog="Start here: [bold]tacit instance new ap --out ap.json[/bold], then "
        "[bold]tacit solve ap.json --deadline 10s[/bold]",
        rich_markup_mode="rich",
    )
    alone = first in (*GROUPS, *COMMANDS, "version", "--version")
    for name in GROUPS:
        if first == name or (not alone and _is_installed(name)):
            app.add_typer(_group_of(name), name=name)
    # Without a subcommand all are imported for the list; what is not installed is left out of it.
    for name in COMMANDS:
        if first == name or (not alone and _is_installed(name)):
            module = _module_of(name)
            app.command(name=name, epilog=module.EPILOG)(getattr(module, f"{name}_command"))
    app.callback()(_options)
    app.command(epilog=example("version"))(version)
    return app


def _module_of(name: str) -> Any:  # noqa: ANN401 - a module
    if name not in STUDIES:
        return import_module(f"tacit.cli.{name}")
    try:
        return import_module(f"studies.commands.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "studies":
            raise
        raise InputError(
            f"'tacit {name}' belongs to the studies, which no release contains; clone the "
            "repository and run pip install -e '.[studies]' in it"
        ) from None


def _group_of(name: str) -> typer.Typer:
    module, group = HOMES.get(name, (name, "app"))
    found: typer.Typer = getattr(_module_of(module), group)
    return found


def _is_installed(name: str) -> bool:
    """Whether what a command needs is installed; others are left out of the list."""
    try:
        _module_of(HOMES.get(name, (name, ""))[0])
    except (ModuleNotFoundError, InputError):
        return False
    return True


def _show_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None: ...


def version() -> None:
    """Print the version."""
    typer.echo(tacit.__version__)


def main() -> None:
    """Run the command line; a user's mistake becomes one line and an exit code."""
    first = _first_word()
    # Nodes, audits and studies have a process or thread per core themselves. Those of the algebra
    # library would only wait for each other, at twice the computing time and far more on a busy
    # machine; the library reads this once, when it is imported, and so do child processes.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if _starts_nodes(sys.argv[1:]):
        # Another process imports what they need while this one imports and reads the problem.
        shared_fork_server().open()
    try:
        app = make_app(first)
        # Otherwise Typer would print errors of its own and exit, before they become one line here.
        code = app(prog_name="tacit", standalone_mode=False)
        if code == INTERRUPTED:  # Typer makes that of Ctrl-C, without a word
            raise KeyboardInterrupt
        sys.exit(code)
    except TacitError as error:
        _echo_error(error)
        sys.exit(error.exit_code)
    except UsageError as error:
        _show_usage_error(error)
        sys.exit(InputError.exit_code)
    except ModuleNotFoundError as error:
        # A missing module of our own is a broken installation, and no extra would bring it.
        if (error.name or "tacit").partition(".")[0] == "tacit":
            raise
        _echo_error(
            f"this needs {error.name}, which is not installed; install tacit with an extra: node, "
            "participant, service, solve or, in a clone, studies"
        )
        sys.exit(InputError.exit_code)
    except OSError as error:
        # Whatever nobody has a remedy for is likely a fault of ours, and its trace helps to find
        # it.
        if error.errno not in REMEDIES:
            raise
        what = f"{error.filename}: " if error.filename else ""
        _echo_error(f"{what}{error.strerror}; {REMEDIES[error.errno]}")
        sys.exit(InputError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _echo_error("interrupted before it was done")
        sys.exit(INTERRUPTED)


def _first_word() -> str | None:
    """The subcommand: of this command, or of the line that a shell asks us to complete."""
    words = sys.argv
    if "_TACIT_COMPLETE" in os.environ:
        # Bash hands over the line in COMP_WORDS, zsh and fish in Typer's own variable.
        line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
        words = line.split()
    return words[1] if len(words) > 1 else None


def _starts_nodes(words: Sequence[str]) -> bool:
    """Whether a command probably starts nodes; what was prepared for nothing ends with it."""
    if "_TACIT_COMPLETE" in os.environ:
        return False
    without = {
        "solve": {"--help", "--nodes", "simulated", "--engine=simulated"},
        "demo": {"--help"},
    }
    return bool(words) and words[0] in without and not without[words[0]] & set(words)


def _show_usage_error(error: Any) -> None:  # noqa: ANN401 - see UsageError
    """One line, like any other mistake; help where somebody asked for nothing at all."""
    if len(sys.argv) == 1 or type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    _echo_error(usage_words(error))


def _echo_error(error: object) -> None:
    """One line that a terminal only shows: parts of it may come from the other side."""
    typer.echo(f"tacit: {plain_line(error, longest=LONGEST_ERROR)}", err=True)
