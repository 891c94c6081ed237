"""A node or a platform of one's own: secrets that never leave the machine, and a public half."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.errors import FileError, InputError
from tacit.files import check_secret, read_text, replace_file, writing
from tacit.identity.certificates import CertificateFiles, new_certificate, read_certificate
from tacit.identity.config import parse_address
from tacit.identity.keys import Keys, load_keys, save_keys
from tacit.identity.node_file import node_file_text
from tacit.identity.public_half import (
    NAME,
    RESERVED,
    PublicHalf,
    half_file,
    load_half,
    node_half,
    platform_half,
    show_half,
)

NODE_FILE, CLUSTER_FILE = "node.toml", "cluster.toml"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def new_node(
    folder: Path, name: str, address: str, /, *, listen: str | None = None, data: str | None = None
) -> PublicHalf:
    """Write a node's key, its certificate, `node.toml` and its public half into a folder."""
    _check_name(name)
    host, port = parse_address(address)
    listen = listen or _listen(host, port)
    parse_address(listen)
    _check_empty(folder, NODE_FILE)
    keys = Keys.new(name)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        save_keys(keys, folder / f"{name}.key")
        files = new_certificate(name, folder, hosts=[host])
        half = node_half(keys, files.pem, name=name, address=address)
        half_file(files.certificate).write_text(show_half(half))
        text = node_file_text(name, listen=listen, data=data or f"{name}.data")
        (folder / NODE_FILE).write_text(text)
    return half


def new_platform(folder: Path, name: str, /) -> PublicHalf:
    """Write what a platform shows its nodes, and its public half, into a folder."""
    _check_name(name)
    _check_empty(folder, CLUSTER_FILE)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        files = new_certificate(name, folder)
        half = platform_half(read_text(files.key), files.pem, name=name)
        half_file(files.certificate).write_text(show_half(half))
    return half


def renewed_half(certificate: Path, tls_key: Path, keys: Path | None, /) -> PublicHalf | None:
    """Write the public half anew after a step of a rotation; none if it was made without one."""
    path = half_file(certificate)
    if not path.exists():
        return None
    old, pem = load_half(path), read_certificate(certificate)
    if keys is not None:
        half = node_half(load_keys(keys), pem, name=old.name, address=old.address)
    else:
        check_secret(tls_key)
        half = platform_half(read_text(tls_key), pem, name=old.name)
    replace_file(path, show_half(half).encode())
    path.chmod(0o644)
    return half


def own_half(folder: Path, /) -> PublicHalf:
    """The public half whose secrets are in a folder."""
    found = [
        each
        for each in sorted(folder.glob("*.public.toml"))
        if each.with_name(each.name.replace(".public.toml", ".tls.key")).exists()
    ]
    if len(found) != 1:
        what = "there is no key in it" if not found else "there are the keys of several"
        remedy = "a node's folder is made by tacit node init, a platform's by tacit cluster init"
        raise FileError(folder, None, what, remedy)
    half = load_half(found[0])
    shown = CertificateFiles(folder / f"{half.name}.pem", folder / f"{half.name}.tls.key")
    if shown.fingerprint != half.certificate_fingerprint:
        what = "has another certificate than the .pem beside it"
        raise FileError(found[0], None, what, "it is written by tacit keys rotate; run it again")
    return half


def _check_name(name: str) -> None:
    if not re.fullmatch(NAME, name) or name in RESERVED:
        raise InputError(
            f"{name!r} cannot be the name of a node or platform; use up to 40 lower-case letters, "
            "digits and dashes, such as alpha or north-air"
        )


def _check_empty(folder: Path, file: str) -> None:
    if (folder / file).exists() or [*folder.glob("*.public.toml")]:
        raise FileError(folder, None, "somebody's keys are in it already", "give a new folder")


def _listen(host: str, port: int) -> str:
    """On all addresses, unless the node is to be found on this machine alone."""
    if host in _LOOPBACK:
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"[::]:{port}" if ":" in host else f"0.0.0.0:{port}"
