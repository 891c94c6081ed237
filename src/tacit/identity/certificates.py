"""Pinned TLS certificates on disk: self-signed, one per node and one for the platform."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import FileError
from tacit.files import check_secret, create_secret, read_bytes
from tacit.mpc.transport import Identity, fingerprint, make_certificate


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """Where a party's certificate and its private key lie."""

    certificate: Path
    key: Path

    @property
    def pem(self) -> str:
        """The certificate."""
        return read_certificate(self.certificate)

    @property
    def fingerprint(self) -> str:
        """The SHA-256 that an agreement names it by."""
        return fingerprint(self.pem)

    def identity(self, pinned: Mapping[str, str], /) -> Identity:
        """Who we are to these peers; a private key that others can read is refused."""
        check_secret(self.key, remedy="make it with tacit node init or tacit cluster new")
        return Identity(self.certificate, self.key, pinned)


def new_certificate(name: str, folder: Path, *, hosts: Sequence[str] = ()) -> CertificateFiles:
    """Write NAME.pem and NAME.tls.key into a folder; the key is readable by its owner alone."""
    files = CertificateFiles(folder / f"{name}.pem", folder / f"{name}.tls.key")
    pem, secret = make_certificate(name, hosts=hosts)
    create_secret(files.key, secret.encode())
    files.certificate.write_text(pem)
    return files


def read_certificate(path: Path) -> str:
    """Read a certificate in PEM."""
    remedy = "fetch the certificate from its owner"
    raw = read_bytes(path, remedy=remedy)
    try:
        pem = raw.decode()
        fingerprint(pem)
    except ValueError:
        raise FileError(path, None, "is not a certificate in PEM", remedy) from None
    return pem
