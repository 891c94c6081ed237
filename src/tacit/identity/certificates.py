"""TLS certificates: self-signed ones that peers pin, their expiry, and the platform's for browsers.

A file may hold two certificates of one party, the old and the new one, while they are rotated: the
party may show either.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.errors import FileError, InputError
from tacit.files import check_secret, create_secret, read_bytes
from tacit.identity.config import parse_address
from tacit.mpc.transport import (
    Identity,
    alternative_names,
    fingerprint,
    fingerprints,
    make_certificate,
    secret_pem,
    split_certificates,
    started_certificate,
)


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Where a party's certificate and its private key lie."""

    certificate: Path
    key: Path

    @property
    def pem(self) -> str:
        return read_certificate(self.certificate)

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.pem)

    def identity(self, pinned: Mapping[str, str], /) -> Identity:
        """Return what we show these peers; a private key that others can read is refused."""
        # Whoever can read this key can speak in the party's name.
        check_secret(self.key, remedy="make it with tacit node init or tacit cluster new")
        return Identity(self.certificate, self.key, pinned)


def new_certificate(name: str, folder: Path, *, hosts: Sequence[str] = ()) -> CertificateFiles:
    """Write NAME.pem and NAME.tls.key into a folder; only the owner can read the key."""
    files = CertificateFiles(folder / f"{name}.pem", folder / f"{name}.tls.key")
    pem, secret = make_certificate(name, hosts=hosts)
    create_secret(files.key, secret.encode())
    files.certificate.write_text(pem)
    return files


def read_certificate(path: Path) -> str:
    remedy = "fetch the certificate from its owner"
    raw = read_bytes(path, remedy=remedy)
    try:
        pem = raw.decode()
        fingerprint(pem)
    except ValueError:
        raise FileError(path, None, "is not a certificate in PEM", remedy) from None
    return pem


WARN_DAYS = 30
DAY = 86400.0


def expires(pem: str, /) -> float:
    """Return when the certificate that is shown expires, in seconds since 1970."""
    first = split_certificates(pem)[0]
    return x509.load_pem_x509_certificate(first.encode()).not_valid_after_utc.timestamp()


def last_expires(pem: str, /) -> float:
    """Return when the last certificate expires that a party may show."""
    return max(expires(each) for each in split_certificates(pem))


def expiry_warnings(when: Mapping[str, float], now: float, /) -> dict[str, str]:
    """Warn of each party whose certificate has expired or will within a month.

    >>> expiry_warnings({"node 1": 10 * DAY, "node 2": 0.0, "platform": 40 * DAY}, 0.0)["node 1"]
    'the certificate of node 1 expires in 10 days, on 1970-01-11; renew it with tacit keys rotate'
    """
    return {
        party: _sentence(party, at, now)
        for party, at in when.items()
        if at <= now + WARN_DAYS * DAY
    }


def _sentence(party: str, at: float, now: float) -> str:
    day = time.strftime("%Y-%m-%d", time.gmtime(at))
    when = f"expires in {(at - now) / DAY:.0f} days, on {day}"
    if at <= now:
        when = f"has expired on {day}: nobody accepts it"
    return f"the certificate of {party} {when}; renew it with tacit keys rotate"


_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _ReadCertificate:
    """A file as it was read."""

    stamp: _Stamp
    pem: str
    fingerprints: list[str]

    @classmethod
    def of(cls, path: Path) -> _ReadCertificate:
        stamp, pem = _stamp(path), read_certificate(path)
        return cls(stamp, pem, fingerprints(pem))


class PinnedCertificates(Mapping[str, str]):
    """Parties by name, each with its certificates in PEM; changed files are read again."""

    def __init__(self, files: Mapping[str, Path], /) -> None:
        self._files = dict(files)
        self._read = {name: _ReadCertificate.of(path) for name, path in files.items()}

    def _current(self, name: str) -> _ReadCertificate:
        known = self._read[name]
        if _stamp(self._files[name]) == known.stamp:
            return known
        try:
            self._read[name] = _ReadCertificate.of(self._files[name])
        except FileError:
            return known  # somebody is just writing it, or made a mistake
        return self._read[name]

    def __getitem__(self, name: str) -> str:
        return self._current(name).pem

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def fingerprints(self, name: str, /) -> list[str]:
        """Return all that a party may show; the first is what it shows now, or will."""
        return self._current(name).fingerprints


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    # The inode too: a file that is replaced within one tick of the clock may have the same size.
    return found.st_mtime_ns, found.st_size, found.st_ino


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
    """Make a certificate for these names and addresses, and the authority that signs it."""
    # X.509 allows no longer one; the alternative names below are what counts.
    common = hosts[0][:LONGEST_COMMON_NAME]
    authority_name = f"tacit platform {common}"[:LONGEST_COMMON_NAME]
    whose = x509.Name(_named(authority_name))
    if not any(_is_name(host) for host in hosts):
        # OpenSSL takes it for a name otherwise, and the authority vouches for none.
        common = f"platform at {common}"
    # This key signs two certificates and is forgotten with the function: nobody can make a third.
    signer = ec.generate_private_key(ec.SECP256R1())
    signer_id = x509.SubjectKeyIdentifier.from_public_key(signer.public_key())
    authority = (
        started_certificate(whose, signer.public_key(), days=days)
        .issuer_name(whose)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(authority=True), critical=True)
        .add_extension(signer_id, critical=False)
        # Critical, so that software which does not know name constraints refuses the authority.
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
    """Return whether an authority of tacit's own signed a certificate: it lies beside it."""
    return certificate.with_name(AUTHORITY_FILE).exists()


def https_hosts(listen: str, url: str, more: Iterable[str] = (), /) -> list[str]:
    """Return the names and addresses by which a platform is reached.

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
    """Return a name as certificates have it: lower case, and ASCII where it has other letters."""
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
