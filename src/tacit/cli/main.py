"""The `tacit` command: its subcommands, and how errors reach the user."""

from __future__ import annotations

import sys
from typing import Any

import typer

import tacit
from tacit.cli import experiment, instance, solve, tune
from tacit.errors import InputError, TacitError

UsageError: Any = typer.BadParameter.__mro__[1]
"""What a wrong option raises; Typer exports this base class under no name of its own."""

app = typer.Typer(
    name="tacit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Find a near-optimal plan before the deadline without anybody seeing anybody's costs.",
    epilog="Start here: [bold]tacit instance new ap --out ap.json[/bold], then "
    "[bold]tacit solve ap.json --disclose top:15 --deadline 10s[/bold]",
    rich_markup_mode="rich",
)
app.add_typer(instance.app, name="instance")
app.command(name="solve", epilog=solve.EPILOG)(solve.solve_command)
app.add_typer(experiment.app, name="experiment")
app.command(name="tune", epilog=tune.EPILOG)(tune.tune_command)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(tacit.__version__)


def main() -> None:
    """Run the command line; a user's mistake becomes one line and an exit code."""
    try:
        sys.exit(app(standalone_mode=False))
    except TacitError as error:
        typer.echo(f"tacit: {error}", err=True)
        sys.exit(error.exit_code)
    except UsageError as error:
        _show_usage_error(error)
        sys.exit(InputError.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("tacit: interrupted before there was any result", err=True)
        sys.exit(130)


def _show_usage_error(error: Any) -> None:  # noqa: ANN401 - see UsageError
    """One line, like any other mistake; help where somebody asked for nothing at all."""
    if len(sys.argv) == 1 or type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    command = error.ctx.command_path if error.ctx is not None else "tacit"
    message = " ".join(error.format_message().split()).rstrip(".")
    typer.echo(f"tacit: {message}; see {command} --help", err=True)
