"""A participant's own folder, and a run of its that a command is about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit import participant
from tacit.errors import InputError

Folder = Annotated[
    Path | None,
    typer.Option("--profile", help="Your folder. Default: ~/.config/tacit", show_default=False),
]


def folder_of(profile: Path | None, /) -> Path:
    """The folder that was named, or the usual one."""
    return profile or participant.default_folder()


def signed_here(context: typer.Context, incomplete: str) -> list[str]:
    """Runs that a shell may complete: those that this machine has signed; asks nobody."""
    folder = folder_of(context.params.get("profile")) / "runs"
    return sorted(path.name for path in folder.glob("r-*") if path.name.startswith(incomplete))


Run = Annotated[
    str,
    typer.Argument(
        help="The run, by its id or its name, as runs lists them.", autocompletion=signed_here
    ),
]


def ask(question: str, /, *, err: bool = False) -> bool:
    """Ask somebody at a terminal; where nobody can answer, say what to do instead."""
    try:
        return typer.confirm(question, err=err)
    except typer.Abort:
        if sys.stdin.isatty():
            raise
        raise InputError(
            "nobody is there to answer; read the review, then sign what it showed with --yes"
        ) from None


def opened(profile: Path | None, /, run: str | None = None) -> tuple[participant.Profile, str]:
    """The profile, and the id of a run that was given by its id or its name."""
    loaded = participant.load_profile(folder_of(profile))
    if run is None or run.startswith("r-"):
        return loaded, run or ""
    found = [each.id for each in participant.runs(loaded) if each.name == run]
    if len(found) != 1:
        many = "several runs have" if found else "no run of yours has"
        raise InputError(f"{many} the name {run!r}; give the id that tacit participant runs shows")
    return loaded, found[0]


def receipts_line(profile: participant.Profile, run: str, count: int) -> str:
    """What was kept of the nodes' logs, to notice if they are set back."""
    agreement = profile.signed_agreement(run)
    if agreement is not None and count == len(agreement.nodes):
        return f"kept receipts of all {count} nodes; tacit participant log {run} compares them"
    return f"kept receipts of {count} nodes; ask again later, so that a lost log is noticed"
