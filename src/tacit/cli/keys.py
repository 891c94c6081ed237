"""`tacit keys`: make and show key files, rotate keys and certificates, see when they expire."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.errors import FileError, InputError

if TYPE_CHECKING:
    from tacit.engine.identity import Rotated

app = typer.Typer(no_args_is_help=True, help="Make, show and rotate keys and certificates.")

ConfigFile = Annotated[Path, typer.Argument(help="A node.toml, cluster.toml or service.toml.")]


class Step(StrEnum):
    """The three steps of a rotation."""

    PREPARE = "prepare"
    SWITCH = "switch"
    FINISH = "finish"


@app.command(epilog="Example: [bold]tacit keys new node-0 --out node-0.key[/bold]")
def new(
    name: Annotated[str, typer.Argument(help="Name of the owner.")],
    out: Annotated[Path, typer.Option(help="File to write, readable by you alone.")],
) -> None:
    """Draw a key to sign with."""
    from tacit.engine.identity import Keys, save_keys

    keys = Keys.new(name)
    save_keys(keys, out)
    show_keys(keys.name, keys.signing_public)


@app.command(
    epilog="Example: [bold]tacit keys show node-0.key --address n0.example:9000[/bold]",
)
def show(
    path: Annotated[Path, typer.Argument(help="A key file.")],
    address: Annotated[
        str | None,
        typer.Option(
            help="Where the node with this key is, host:port: print an entry of a trust file."
        ),
    ] = None,
) -> None:
    """Print the public half, to compare over another channel.

    With --address it is what a node's operator gives to participants, for them to pin.
    """
    from tacit.engine.identity import load_keys

    keys = load_keys(path)
    if address is not None:
        from tacit.engine.identity import parse_address
        from tacit.participant import node_entry, trust_text

        parse_address(address)
        typer.echo(trust_text(node_entry(keys, address)), nl=False)
        return
    show_keys(keys.name, keys.signing_public)


def show_keys(name: str, signing: str) -> None:
    """Print the public half of somebody's key."""
    from tacit.engine.identity import key_fingerprint

    typer.echo(f"{name}\nsigning key  {signing}")
    typer.echo(f"to compare by phone: {key_fingerprint(signing)}")


@app.command(epilog="Example: [bold]tacit keys rotate node-0.toml prepare[/bold]")
def rotate(
    config: ConfigFile,
    step: Annotated[Step, typer.Argument(help="One after the other.")] = Step.PREPARE,
) -> None:
    """Replace a certificate, and a node's signing key, in three steps while everything runs.

    prepare draws new ones: give the certificate file, which holds both certificates then, to
    everybody who pins it. switch uses the new ones. finish forgets the old ones.
    """
    from tacit.engine.identity import load_keys, load_node_config
    from tacit.engine.node import agreements_naming

    rotated = _rotated(config)
    if step is Step.PREPARE:
        rotated.prepare()
        typer.echo(f"{rotated.certificate} holds the old and the new certificate; give it to all")
        typer.echo("who pin it, and when they have it: tacit keys rotate CONFIG switch")
    elif step is Step.SWITCH:
        rotated.switch()
        typer.echo(f"certificate  {rotated.fingerprint}")
        if rotated.keys is not None:
            keys = load_keys(rotated.keys)
            show_keys(keys.name, keys.signing_public)
            typer.echo("give this key to platforms (signing_key in cluster.toml) and participants")
        typer.echo("when nobody needs the old ones any more: tacit keys rotate CONFIG finish")
    else:
        agreements: list[str] = []
        if rotated.keys is not None and rotated.previous_keys.exists():
            previous = load_keys(rotated.previous_keys).signing_public
            agreements = agreements_naming(load_node_config(config), previous)
        rotated.finish(agreements=agreements)
        typer.echo(f"the old ones are gone; give {rotated.certificate} to all who pin it")


@app.command(epilog="Example: [bold]tacit keys check node-0.toml[/bold]")
def check(config: ConfigFile) -> None:
    """Show when each certificate expires; the exit code is 1 if one does within 30 days."""
    import time

    from tacit.engine.identity import expires, expiry_warnings, last_expires, read_certificate

    own, others = _rotated(config).certificate, _pinned(config)
    when = {str(path): last_expires(read_certificate(path)) for path in others}
    when[str(own)] = expires(read_certificate(own))
    for path, at in sorted(when.items()):
        typer.echo(f"{time.strftime('%Y-%m-%d', time.gmtime(at))}  {path}")
    warnings = expiry_warnings(when, time.time())
    for warning in warnings.values():
        typer.echo(f"tacit: {warning}", err=True)
    if warnings:
        raise typer.Exit(1)


def _kind(config: Path) -> str:
    """Which file it is, by what only one of them has."""
    from tacit.files import read_toml

    table = read_toml(config)
    for key, kind in (("peers", "node"), ("nodes", "cluster"), ("cluster", "service")):
        if key in table:
            return kind
    raise FileError(
        config, None, "is no config file", "give a node.toml, cluster.toml or service.toml"
    )


def _rotated(config: Path) -> Rotated:
    from tacit.engine import identity

    kind = _kind(config)
    if kind == "node":
        return identity.rotated_by_node(identity.load_node_config(config))
    if kind == "cluster":
        return identity.rotated_by_platform(identity.load_cluster_config(config))
    from tacit.service import load_settings

    settings = load_settings(config)
    if settings.tls_certificate is None or settings.tls_key is None:
        raise InputError(f"{config} names no certificate; rotate that of the proxy in front of it")
    place = settings.place
    return identity.Rotated("service", place(settings.tls_certificate), place(settings.tls_key))


def _pinned(config: Path) -> list[Path]:
    from tacit.engine.identity import load_cluster_config, load_node_config

    kind, folder = _kind(config), config.parent
    if kind == "node":
        node = load_node_config(config)
        return [folder / each for each in (*(p.certificate for p in node.peers), *node.platforms)]
    if kind == "cluster":
        return [folder / each.certificate for each in load_cluster_config(config).nodes]
    return []
