"""The public half of a node or a platform: one small file for everybody who has to know it.

It has the certificate, and of a node the address and the public signing key. It is signed with that
key, a platform's with the key of its certificate, so that nobody passes off another's key as its
own, and a file that was changed on its way is noticed. Whether it is the right party's is a
question for the phone: both sides compare fingerprints.
"""

from __future__ import annotations

import hashlib
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

from tacit.errors import FileError, TrustError
from tacit.files import other_version, read_toml
from tacit.identity.keys import Keys, key_fingerprint
from tacit.mpc.transport import fingerprint, split_certificates
from tacit.plain_text import decoders_words

FORMAT: Literal["tacit-public/1"] = "tacit-public/1"
SUFFIX = ".public.toml"
PROTOCOL = 1
"""The version of the nodes' protocol; it goes up with each change that older nodes do not speak."""
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
    def certificate_fingerprint(self) -> str:
        """The SHA-256 of the certificate that it shows."""
        return fingerprint(self.certificate)


def node_half(keys: Keys, certificate: str, /, *, name: str, address: str) -> PublicHalf:
    """The public half of a node."""
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
    """The public half of a platform, as its nodes have to know it."""
    half = PublicHalf(kind="platform", name=name, protocol=PROTOCOL, certificate=certificate)
    key = load_pem_private_key(tls_key.encode(), password=None)
    assert isinstance(key, EllipticCurvePrivateKey)
    return replace(half, signature=key.sign(_signed_bytes(half), ECDSA(SHA256())).hex())


def half_file(certificate: Path, /) -> Path:
    """Where a public half lies: beside its certificate, under the same name.

    >>> half_file(Path("alpha.pem")).name
    'alpha.public.toml'
    """
    return certificate.with_suffix(SUFFIX)


def is_half(table: dict[str, object], /) -> bool:
    """Whether a file that was read is meant to be a public half."""
    return str(table.get("format", "")).startswith("tacit-public/")


def load_half(path: Path, /) -> PublicHalf:
    """Read a public half, and check that nobody changed it after its owner."""
    table = read_toml(path, remedy=_REMEDY)
    if not is_half(table):
        raise FileError(path, None, "is not the public half of a node or platform", _REMEDY)
    try:
        half = msgspec.convert(table, type=PublicHalf)
        half.certificate_fingerprint  # noqa: B018 - refuses what is no certificate
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
    """The file as text."""
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
    """The fingerprints of one party, to compare by phone."""
    lines = []
    if half.kind == "node":
        lines.append(f"  signing key  {key_fingerprint(half.signing_key)}")
    lines.append(f"  certificate  {short_fingerprint(half.certificate)}")
    return lines


def short_fingerprint(pem: str, /) -> str:
    """A certificate's SHA-256, as much of it as two people compare by phone (128 bits)."""
    return _grouped(fingerprint(pem), 4)


def joint_fingerprint(halves: Iterable[PublicHalf], /) -> str:
    """One for all of them, in whatever order (192 bits: a party chooses its own half of it)."""
    lines = sorted(
        f"{each.kind} {each.name} {each.address} {each.signing_key} {each.certificate_fingerprint}"
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
    certificates = "".join(split_certificates(half.certificate))
    bare = replace(half, signature="", certificate=certificates)
    return f"{FORMAT}\n".encode() + msgspec.json.encode(bare, order="deterministic")
