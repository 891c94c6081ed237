"""`tacit keys`: make and show key files, rotate keys and certificates, see when they expire."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli.printing import AsJson, command_group, echo_json
from tacit.errors import FileError, InputError

if TYPE_CHECKING:
    from tacit.identity import PublicHalf, Rotated

ConfigFile = Annotated[Path, typer.Argument(help="A node.toml, cluster.toml or service.toml.")]


class RotationStep(StrEnum):
    """The three steps of a rotation."""

    PREPARE = "prepare"
    SWITCH = "switch"
    FINISH = "finish"


def new(
    name: Annotated[str, typer.Argument(help="Name of the owner.")],
    out: Annotated[Path, typer.Option(help="File to write, readable by you alone.")],
) -> None:
    """Draw a key to sign with."""
    from tacit.identity import Keys, save_keys

    keys = Keys.new(name)
    save_keys(keys, out)
    show_keys(keys.name, keys.signing_public)


def show(
    path: Annotated[
        Path,
        typer.Argument(
            help="A key file, a certificate, a public half, or a node.toml, cluster.toml or "
            "service.toml with all that it names."
        ),
    ],
    address: Annotated[
        str | None,
        typer.Option(
            help="Where the node with this key is, host:port: print an entry of a trust file."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the fingerprints of keys and certificates, to compare over another channel.

    With --address it is what a node's operator gives to participants, for them to pin.
    """
    from tacit.identity import load_keys

    if address is not None:
        from tacit.identity import parse_address
        from tacit.participant import node_entry, trust_text

        parse_address(address)
        typer.echo(trust_text(node_entry(load_keys(path), address)), nl=False)
        return
    if as_json:
        echo_json(_shown(path))
        return
    for each in _shown(path):
        if each["what"] == "signing key":
            show_keys(each["name"], each["key"])
        else:
            hosts = f"  for {', '.join(each['hosts'])}" if each["hosts"] else ""
            typer.echo(f"{each['file']}{hosts}  until {each['expires']}")
            typer.echo(f"  certificate  {each['to_compare']}")


def _shown(path: Path) -> list[dict[str, Any]]:
    """Describe each key and certificate that a file has or names."""
    from tacit.files import read_bytes, read_toml
    from tacit.identity import is_half, load_half, load_keys

    # How it begins shows what it is: keys are JSON, certificates PEM, all else is TOML.
    start = read_bytes(path).lstrip()[:40]
    if start.startswith(b"{"):
        keys = load_keys(path)
        return [_key_table(keys.name, keys.signing_public)]
    if start.startswith(b"-----"):
        return _certificate_tables(path)
    if is_half(read_toml(path)):
        half = load_half(path)
        shown = _certificate_tables(path, half.certificate)
        if half.signing_key:
            shown.insert(0, _key_table(half.name, half.signing_key))
        return shown
    rotated = _rotated(path)
    found = _shown(rotated.keys) if rotated.keys is not None else []
    files = [rotated.certificate, rotated.to_pin, *_pinned(path)]
    for each in dict.fromkeys(files):
        found += _certificate_tables(each) if each.exists() else []
    return found


def _key_table(name: str, key: str) -> dict[str, Any]:
    from tacit.identity import key_fingerprint

    to_compare = key_fingerprint(key)
    return {"what": "signing key", "name": name, "key": key, "to_compare": to_compare}


def _certificate_tables(path: Path, pem: str | None = None) -> list[dict[str, Any]]:
    """Describe every certificate of a file, which has two of a party while they are rotated."""
    from tacit.identity import read_certificate
    from tacit.mpc.transport import split_certificates

    whole = read_certificate(path) if pem is None else pem
    return [_certificate_table(path, each) for each in split_certificates(whole)]


def _certificate_table(path: Path, pem: str) -> dict[str, Any]:
    import time

    from tacit.identity import expires, short_fingerprints
    from tacit.mpc.transport import certificate_hosts, fingerprint

    return {
        "what": "certificate",
        "file": str(path),
        "hosts": certificate_hosts(pem),
        "expires": time.strftime("%Y-%m-%d", time.gmtime(expires(pem))),
        "sha256": fingerprint(pem),
        "to_compare": short_fingerprints(pem)[0],
    }


def show_keys(name: str, signing: str) -> None:
    """Print the public half of somebody's key."""
    from tacit.identity import key_fingerprint

    typer.echo(f"{name}\nsigning key  {signing}")
    typer.echo(f"to compare by phone: {key_fingerprint(signing)}")


def half_table(half: PublicHalf, /) -> dict[str, Any]:
    """A public half for programs."""
    from tacit.identity import key_fingerprint, short_fingerprints

    table = {
        "kind": half.kind,
        "name": half.name,
        "address": half.address or None,
        "signing_key": half.signing_key or None,
        "signing_key_to_compare": key_fingerprint(half.signing_key) if half.signing_key else None,
        "certificates_sha256": half.certificate_fingerprints,
        "certificates_to_compare": short_fingerprints(half.certificate),
    }
    return {key: value for key, value in table.items() if value is not None}


def show_halves(
    halves: Sequence[PublicHalf],
    /,
    *,
    as_json: bool = False,
    file: Path | None = None,
    own: str | None = None,
) -> None:
    """Print public halves, with numbers if they are those of a cluster; `file` was just made."""
    from tacit.identity import half_lines

    if as_json:
        echo_json({"file": str(file), **half_table(halves[0])})
        return
    if file is not None:
        typer.echo(file)
    for number, each in enumerate(halves):
        title = f"node {number}" if each.kind == "node" and file is None else each.kind
        where = f" at {each.address}" if each.address else ""
        typer.echo(f"{title}: {each.name}{where}{' (yours)' if each.name == own else ''}")
        for line in half_lines(each):
            typer.echo(line)
    if file is not None:
        typer.echo(f"send {file} to the others; read them its fingerprints by phone", err=True)


def rotate(
    config: ConfigFile,
    step: Annotated[
        RotationStep, typer.Argument(help="One after the other.")
    ] = RotationStep.PREPARE,
) -> None:
    """Replace a certificate, and a node's signing key, in three steps while everything runs.

    prepare draws new ones: give the file that it names, which holds the old and the new then, to
    everybody who pins it. switch uses the new ones. finish forgets the old ones.
    """
    from tacit.identity import load_keys, load_node_config, renewed_half
    from tacit.node import agreements_naming

    rotated = _rotated(config)
    if step is RotationStep.PREPARE:
        # While others pin the old and the new certificate, each party can switch at a time of its
        # own.
        rotated.prepare()
        typer.echo(f"new certificate  {rotated.new_fingerprint}")
        typer.echo(f"{rotated.to_pin} holds the old and the new certificate; give it to all")
        typer.echo("who pin it, and when they have it: tacit keys rotate CONFIG switch")
    elif step is RotationStep.SWITCH:
        rotated.switch()
        typer.echo(f"certificate  {rotated.new_fingerprint}")
        if rotated.keys is not None:
            keys = load_keys(rotated.keys)
            show_keys(keys.name, keys.signing_public)
            typer.echo("give this key to platforms (signing_key in cluster.toml) and participants")
        typer.echo("when nobody needs the old ones any more: tacit keys rotate CONFIG finish")
    else:
        # Nodes go on signing for agreements that name the old key, so it stays until these expire.
        agreements: list[str] = []
        if rotated.keys is not None and rotated.previous_keys.exists():
            previous = load_keys(rotated.previous_keys).signing_public
            agreements = agreements_naming(load_node_config(config), previous)
        rotated.finish(agreements=agreements)
        typer.echo(f"the old ones are gone; give {rotated.to_pin} to all who pin it")
    half = renewed_half(rotated.certificate, rotated.tls_key, rotated.keys)
    if half is not None:
        typer.echo(f"the public half of {half.name} is written anew; its fingerprints:")
        show_halves([half], file=rotated.certificate.with_suffix(".public.toml"))


def check(config: ConfigFile) -> None:
    """Show when each certificate expires; the exit code is 1 if one does within 30 days."""
    import time

    from tacit.identity import expires, expiry_warnings, last_expires, read_certificate

    own, others = _rotated(config).certificate, _pinned(config)
    # In a rotation a pinned file holds two certificates, and the later one counts.
    when = {str(path): last_expires(read_certificate(path)) for path in others}
    when[str(own)] = expires(read_certificate(own))
    for path, at in sorted(when.items()):
        typer.echo(f"{time.strftime('%Y-%m-%d', time.gmtime(at))}  {path}")
    warnings = expiry_warnings(when, time.time())
    for warning in warnings.values():
        typer.echo(f"tacit: {warning}", err=True)
    if warnings:
        # So that a daily job can raise an alarm.
        raise typer.Exit(1)


def _kind(config: Path) -> str:
    """Tell a node.toml, cluster.toml or service.toml by a field that only it has."""
    from tacit.files import read_toml

    table = read_toml(config)
    for key, kind in (("keys", "node"), ("nodes", "cluster"), ("cluster", "service")):
        if key in table:
            return kind
    raise FileError(
        config, None, "is no config file", "give a node.toml, cluster.toml or service.toml"
    )


def _rotated(config: Path) -> Rotated:
    from tacit import identity

    kind = _kind(config)
    if kind == "node":
        return identity.rotated_by_node(identity.load_node_config(config))
    if kind == "cluster":
        return identity.rotated_by_platform(identity.load_cluster_config(config))
    from tacit.service import load_settings, rotated_website

    settings = load_settings(config)
    if settings.tls_certificate is None:
        raise InputError(f"{config} names no certificate; rotate that of the proxy in front of it")
    rotated = rotated_website(settings)
    if rotated is None:
        raise InputError(
            f"{settings.place(settings.tls_certificate)} was signed by an authority that is not "
            "ours; renew it there, and put the new one in its place"
        )
    return rotated


def _pinned(config: Path) -> list[Path]:
    from tacit.identity import load_cluster_config, load_node_config

    kind, folder = _kind(config), config.parent
    if kind == "node":
        node = load_node_config(config)
        return [folder / each for each in (*(p.certificate for p in node.peers), *node.platforms)]
    if kind == "cluster":
        return [folder / each.certificate for each in load_cluster_config(config).nodes]
    return []


app = command_group(
    "keys",
    "Make, show and rotate keys and certificates.",
    ("new", new, "node-0 --out node-0.key"),
    (
        "show",
        show,
        "alpha/node.toml",
        "ca.pem",
        "node-0.key --address n0.example:9000",
    ),
    ("rotate", rotate, "node-0.toml prepare"),
    ("check", check, "node-0.toml"),
)
