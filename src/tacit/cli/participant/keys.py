"""A participant's own keys, and those of others that it pinned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit import participant
from tacit.cli.participant.profile import Folder, folder_of
from tacit.cli.printing import AsJson, echo_json, example
from tacit.plain_text import plain_line

keys_app = typer.Typer(no_args_is_help=True, help="Make and show your keys.")


@keys_app.command("new", epilog=example("participant keys new north"))
def keys_new(
    name: Annotated[str, typer.Argument(help="Your organisation.")], profile: Folder = None
) -> None:
    """Draw your keys into NAME.key in your folder, and show the public halves."""
    path = participant.new_key_file(name, folder_of(profile))
    typer.echo(f"made {path}: readable by you alone, keep a copy of it in a safe place", err=True)
    _show_key(path)


@keys_app.command("show", epilog=example("participant keys show --toml > north.toml"))
def keys_show(
    key: Annotated[Path | None, typer.Option(help="A key file. Default: yours.")] = None,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="As an entry of a trust file, for the others to pin.")
    ] = False,
    profile: Folder = None,
) -> None:
    """Show your public key and its fingerprint, for the others to pin."""
    folder = folder_of(profile)
    path = key or participant.find_key_file(folder)
    if not as_toml:
        _show_key(path)
        return
    from tacit.identity import load_keys

    keys, name = load_keys(path), ""
    if (folder / "profile.json").exists():  # the operator may have chosen another name for you
        name = participant.load_profile(folder).account
    entry = participant.participant_entry(name or keys.name, keys)
    typer.echo(participant.trust_text(entry), nl=False)


def _show_key(path: Path) -> None:
    from tacit.identity import key_fingerprint, load_keys

    keys = load_keys(path)
    typer.echo(f"{keys.name}\nsigning key  {keys.signing_public}")
    typer.echo(f"fingerprint  {key_fingerprint(keys.signing_public)}")


def trust(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Trust files that the others gave you (TOML).", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Where you have another key already, take the new.")
    ] = False,
    profile: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Pin keys of nodes and participants: review and sign refuse all others. Lists what is pinned.

    Compare each fingerprint with its owner by phone. The platform must not be who tells you.
    """
    pinned = folder_of(profile) / "trust.toml"
    known = [pinned] if pinned.exists() else []
    parts = [participant.load_trust(path) for path in (*known, *(files or ()))]
    joined = participant.joined_trust(parts, replace=replace)
    if files:
        participant.save_trust(joined, pinned)
    if as_json:
        echo_json(joined)
        return
    for line in participant.trust_lines(joined):
        typer.echo(plain_line(line))
    if not parts:
        typer.echo("nothing is pinned yet", err=True)
