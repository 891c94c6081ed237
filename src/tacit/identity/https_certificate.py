"""What browsers, curl and participants see of a platform: a certificate that they can verify.

It is signed by an authority of its own, `ca.pem`, which people import or pin. Browsers want one:
they take no certificate for an authority and for a website at once. The authority may vouch for
these hosts alone, and its key is thrown away: it never signs anything else.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.errors import InputError
from tacit.files import create_secret
from tacit.identity.config import parse_address
from tacit.mpc.transport import alternative_names, secret_pem, started_certificate

AUTHORITY_FILE = "ca.pem"
LONGEST_COMMON_NAME = 64
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class HttpsCertificate:
    """All in PEM."""

    certificate: str
    key: str
    authority: str


def make_https_certificate(hosts: Sequence[str], /, *, days: float = 365) -> HttpsCertificate:
    """A certificate for these names and addresses, with the authority that signed it."""
    common = hosts[0][:LONGEST_COMMON_NAME]
    authority_name = f"tacit platform {common}"[:LONGEST_COMMON_NAME]
    whose = x509.Name(_named(authority_name))
    if not any(_is_name(host) for host in hosts):
        # OpenSSL takes it for a name otherwise, and the authority vouches for none.
        common = f"platform at {common}"
    signer = ec.generate_private_key(ec.SECP256R1())
    signer_id = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    authority = (
        started_certificate(whose, signer.public_key(), days=days)
        .issuer_name(whose)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(signer_id, critical=False)
        .add_extension(_nothing_but(hosts), critical=True)
        .sign(signer, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        started_certificate(x509.Name(_named(common)), key.public_key(), days=days)
        .issuer_name(whose)
        .add_extension(alternative_names(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer_id),
            critical=False,
        )
        .sign(signer, hashes.SHA256())
    )
    return HttpsCertificate(_pem(certificate), secret_pem(key), _pem(authority))


def write_https_certificate(folder: Path, hosts: Sequence[str], /, *, name: str) -> None:
    """Write NAME.pem, NAME.tls.key and ca.pem; the key is readable by its owner alone."""
    made = make_https_certificate(hosts)
    create_secret(folder / f"{name}.tls.key", made.key.encode())
    (folder / f"{name}.pem").write_text(made.certificate)
    (folder / AUTHORITY_FILE).write_text(made.authority)


def is_own_https(certificate: Path, /) -> bool:
    """Whether a certificate is signed by an authority of tacit's own, which lies beside it."""
    return certificate.with_name(AUTHORITY_FILE).exists()


def https_hosts(listen: str, url: str, more: Iterable[str] = (), /) -> list[str]:
    """By which names and addresses a platform is reached: its URL, `more`, and where it listens.

    >>> https_hosts("127.0.0.1:8443", "https://platform.example:8443")
    ['platform.example', '127.0.0.1', 'localhost', '::1']
    """
    asked = urlsplit(url).hostname
    if not asked:
        raise InputError(f"{url!r} is not an address; write https://host:port")
    host, _ = parse_address(listen)
    found = [asked, *more]
    if _is_everywhere(host):
        found += [socket.gethostname(), *_LOOPBACK]
    elif host in _LOOPBACK:
        found += [host, *_LOOPBACK]
    else:
        found.append(host)
    return [*dict.fromkeys(_checked(each) for each in found)]


def _is_everywhere(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")


def _checked(host: str) -> str:
    """A name as certificates have it: lower case, and ASCII where it has other letters."""
    try:
        return str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        pass
    try:
        name = host.rstrip(".").encode("idna").decode().lower()
        x509.DNSName(name)
    except (UnicodeError, ValueError):
        name = ""
    if not name or any(each in name for each in " /:@*"):
        raise InputError(f"{host!r} is no host; give a name or an IP address, without a port")
    return name


def _is_name(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return True
    return False


def _named(common: str) -> list[x509.NameAttribute[str]]:
    return [x509.NameAttribute(NameOID.COMMON_NAME, common)]


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _nothing_but(hosts: Sequence[str]) -> x509.NameConstraints:
    """Whoever imports the authority need not fear for other websites.

    A kind of names of which none is permitted would be permitted altogether: so one that leads
    nowhere stands for it.
    """
    names, networks = [], []
    for host in hosts:
        try:
            networks.append(x509.IPAddress(ipaddress.ip_network(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    nowhere = x509.IPAddress(ipaddress.ip_network("0.0.0.0/32"))
    permitted = [*(names or [x509.DNSName("invalid")]), *(networks or [nowhere])]
    return x509.NameConstraints(permitted_subtrees=permitted, excluded_subtrees=None)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
