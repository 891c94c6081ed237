"""Self-signed certificates, to be pinned by the peers."""

from __future__ import annotations

import hashlib
import ipaddress
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(name: str, *, days: float = 365, hosts: Sequence[str] = ()) -> tuple[str, str]:
    """A new certificate and its private key, both in PEM, valid from an hour ago.

    Peers pin it and look at nothing else; `hosts` are for whoever looks with other tools.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = started_certificate(subject, key.public_key(), days=days).issuer_name(subject)
    if hosts:
        builder = builder.add_extension(alternative_names(hosts), critical=False)
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    return pem, secret_pem(key)


def started_certificate(
    subject: x509.Name, public: ec.EllipticCurvePublicKey, *, days: float
) -> x509.CertificateBuilder:
    """What all our certificates have."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        # Clocks differ: the certificate must already be valid by a peer's clock.
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
    )


def alternative_names(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    """The names and the IP addresses by which somebody is reached.

    >>> alternative_names(["n0.example", "::1"])
    <SubjectAlternativeName(<GeneralNames([<DNSName(value='n0.example')>, \
<IPAddress(value=::1)>])>)>
    """
    return x509.SubjectAlternativeName([_general_name(host) for host in hosts])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def certificate_hosts(pem: str) -> list[str]:
    """The names and addresses that a certificate, the first of a file, is for."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in found]


def secret_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def has_expired(pem: str) -> bool:
    """Whether a certificate, the first of a file, is of no use any more."""
    return x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc < datetime.now(UTC)


def split_certificates(pem: str) -> list[str]:
    """The certificates of a file, which has two of one party while they are rotated."""
    parts = pem.split(ssl.PEM_FOOTER)[:-1]
    return [f"{part.strip()}\n{ssl.PEM_FOOTER}\n" for part in parts]


def fingerprint(pem: str) -> str:
    """The SHA-256 of a certificate, the first if there are several, to compare elsewhere."""
    first = next(iter(split_certificates(pem)), "")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(first)).hexdigest()


def fingerprints(pem: str) -> list[str]:
    """The SHA-256 of every certificate of a file: all of them are accepted."""
    return [fingerprint(each) for each in split_certificates(pem)]
