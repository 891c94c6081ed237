"""Public halves: one small file per node or platform, for everybody who has to know it.

It has the certificate, and of a node the address and the public signing key. It is signed with that
key, a platform's with the key of its certificate, so that nobody passes off another's key as its
own, and a file that was changed on its way is noticed. Whether it is the right party's is a
question for the phone: both sides compare fingerprints.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
)
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import load_pem_x509_certificate
from msgspec.structs import replace

from tacit.errors import FileError, InputError, TrustError
from tacit.files import check_secret, other_version, read_text, read_toml, replace_file, writing
from tacit.identity.certificates import CertificateFiles, new_certificate, read_certificate
from tacit.identity.config import node_file_text, parse_address
from tacit.identity.keys import Keys, key_fingerprint, load_keys, save_keys
from tacit.mpc.transport import PROTOCOL, fingerprints, split_certificates
from tacit.plain_text import decoders_words

FORMAT: Literal["tacit-public/1"] = "tacit-public/1"
SUFFIX = ".public.toml"
NAME = r"\A[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?\Z"
RESERVED = ("ca", "service")
"""Files of these names lie beside those of a platform."""
_REMEDY = "have its owner send it again, as tacit node init or tacit cluster init wrote it"

Kind = Literal["node", "platform"]
Name = Annotated[str, msgspec.Meta(pattern=NAME)]
PublicKey = Annotated[str, msgspec.Meta(pattern=r"\A([0-9a-f]{64})?\Z")]
Address = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9._:\[\]-]*\Z")]
"""What is compared by phone has no signs that hide others."""


class PublicHalf(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What others know of a node or a platform."""

    format: Literal["tacit-public/1"] = FORMAT
    kind: Kind
    name: Name
    address: Address = ""
    """Where the others find a node; a platform is not dialled by nodes."""
    protocol: int
    signing_key: PublicKey = ""
    """Of a node."""
    certificate: str
    """PEM; two certificates while they are rotated, the one that is shown first."""
    signature: str = ""

    @property
    def certificate_fingerprints(self) -> list[str]:
        """The SHA-256 of every certificate in force: others accept each of them."""
        return fingerprints(self.certificate)


def node_half(keys: Keys, certificate: str, /, *, name: str, address: str) -> PublicHalf:
    half = PublicHalf(
        kind="node",
        name=name,
        address=address,
        protocol=PROTOCOL,
        signing_key=keys.signing_public,
        certificate=certificate,
    )
    return replace(half, signature=keys.signing.sign(_signed_bytes(half)).hex())


def platform_half(tls_key: str, certificate: str, /, *, name: str) -> PublicHalf:
    half = PublicHalf(kind="platform", name=name, protocol=PROTOCOL, certificate=certificate)
    key = load_pem_private_key(tls_key.encode(), password=None)
    assert isinstance(key, EllipticCurvePrivateKey)
    return replace(half, signature=key.sign(_signed_bytes(half), ECDSA(SHA256())).hex())


def half_file(certificate: Path, /) -> Path:
    """Return where a public half lies: beside its certificate, under the same name.

    >>> half_file(Path("alpha.pem")).name
    'alpha.public.toml'
    """
    return certificate.with_suffix(SUFFIX)


def is_half(table: dict[str, object], /) -> bool:
    """Return whether a file that was read is meant to be a public half."""
    return str(table.get("format", "")).startswith("tacit-public/")


def load_half(path: Path, /) -> PublicHalf:
    """Read a public half, and check that nobody changed it after its owner."""
    table = read_toml(path, remedy=_REMEDY)
    if not is_half(table):
        raise FileError(path, None, "is not the public half of a node or platform", _REMEDY)
    try:
        half = msgspec.convert(table, type=PublicHalf)
        # The file comes from strangers; its parts are read before its signature can be checked.
        half.certificate_fingerprints  # noqa: B018 - refuses what is no certificate
        # A name becomes the name of files, beside others in the same folder.
        if half.name in RESERVED or (half.address == "") != (half.kind == "platform"):
            raise ValueError("no node or platform has such a name and address")
    except (msgspec.ValidationError, ValueError) as error:
        what = other_version(table, FORMAT) or f"is damaged ({decoders_words(error)})"
        raise FileError(path, None, what, _REMEDY) from None
    try:
        _verify(half)
    except (InvalidSignature, ValueError):
        raise TrustError(
            f"{path}: was changed after its owner signed it; {_REMEDY}, and compare fingerprints"
        ) from None
    return half


def show_half(half: PublicHalf, /) -> str:
    lines = [f"# The public half of the {half.kind} {half.name}: nothing in it is secret."]
    lines.append("# Signed as it stands. Compare its fingerprints with the owner by phone.")
    for key, value in msgspec.structs.asdict(half).items():
        if key == "certificate":
            pem = "".join(split_certificates(half.certificate))
            lines.append(f'certificate = """\n{pem}"""')
        else:
            lines.append(f"{key} = {msgspec.json.encode(value).decode()}")
    return "\n".join(lines) + "\n"


def half_lines(half: PublicHalf, /) -> list[str]:
    """Return the fingerprints of one party, to compare by phone."""
    lines = []
    if half.kind == "node":
        lines.append(f"  signing key  {key_fingerprint(half.signing_key)}")
    shown, *others = short_fingerprints(half.certificate)
    lines.append(f"  certificate  {shown}")
    # Whoever has the key of one can stand in for the party, so each is compared.
    lines += [f"  certificate  {each}  (also in force while it is rotated)" for each in others]
    return lines


def short_fingerprints(pem: str, /) -> list[str]:
    """Return as much of each certificate's SHA-256 as people compare by phone (128 bits)."""
    return [_grouped(each, 4) for each in fingerprints(pem)]


def joint_fingerprint(halves: Iterable[PublicHalf], /) -> str:
    """Return one fingerprint for all of them (192 bits: a party chooses its own half of it)."""
    # All certificates, in an order that a step of a rotation does not change.
    lines = sorted(
        f"{each.kind} {each.name} {each.address} {each.signing_key} "
        + " ".join(sorted(each.certificate_fingerprints))
        for each in halves
    )
    return _grouped(hashlib.sha256("\n".join(lines).encode()).hexdigest(), 6)


def _grouped(digest: str, groups: int) -> str:
    return " ".join(digest[at : at + 8] for at in range(0, 8 * groups, 8))


def _verify(half: PublicHalf) -> None:
    signature, signed = bytes.fromhex(half.signature), _signed_bytes(half)
    if half.kind == "node":
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(half.signing_key))
        key.verify(signature, signed)
        return
    shown = load_pem_x509_certificate(half.certificate.encode()).public_key()
    if not isinstance(shown, EllipticCurvePublicKey):
        raise ValueError("no certificate of ours has such a key")
    shown.verify(signature, signed, ECDSA(SHA256()))


def _signed_bytes(half: PublicHalf) -> bytes:
    # In their plain form, so that white space around them changes no signature.
    certificates = "".join(split_certificates(half.certificate))
    bare = replace(half, signature="", certificate=certificates)
    return f"{FORMAT}\n".encode() + msgspec.json.encode(bare, order="deterministic")


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
    """Return the public half whose secrets are in a folder."""
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
    if fingerprints(shown.pem) != half.certificate_fingerprints:
        what = "has other certificates than the .pem beside it"
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
    """Listen on all addresses, unless the node is to be found on this machine alone."""
    if host in _LOOPBACK:
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"[::]:{port}" if ":" in host else f"0.0.0.0:{port}"
