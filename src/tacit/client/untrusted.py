"""Why a platform's certificate is not believed here, and what to do about it."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from tacit.client.certificates import certificate_fingerprint
from tacit.errors import TrustError
from tacit.files import read_bytes
from tacit.plain_text import plain_line

_EXPIRED, _OTHER_NAME, _OTHER_ADDRESS = 10, 62, 64
"""Codes of OpenSSL."""
_LOOK_SECONDS = 5.0
_GET_IT = (
    "get ca.pem from its operator, compare its fingerprint by phone (tacit keys show ca.pem), and "
    "join with --ca ca.pem"
)


def untrusted(url: str, ca: Path | None, error: ssl.SSLCertVerificationError, /) -> TrustError:
    """An error that says what the platform shows, what was expected, and what to do."""
    shown = _shown(url)
    if error.verify_code == _EXPIRED:
        why = "it has expired; ask its operator to renew it with tacit keys rotate"
    elif error.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        hosts = plain_line(", ".join(_hosts(shown)) if shown else "") or "other names"
        why = (
            f"it is for {hosts} and not for {urlsplit(url).hostname}: use one of these names in "
            "the address, or ask its operator for a certificate with the name that you use "
            "(tacit service init --host)"
        )
    elif ca is None:
        why = f"no authority that this computer knows has signed it: {_GET_IT}"
    else:
        seen = f", the platform shows that of {_whose(shown)}" if shown else ""
        # One that is not pinned yet lies beside the pinned one, where nobody has put it.
        named = "the certificate that you gave" if ca.suffix == ".new" else f"{ca}"
        why = (
            f"{named} is another one, of {_whose(read_bytes(ca).decode())}{seen}: {_GET_IT}; if "
            "that is the file you have, somebody stands in between"
        )
    return TrustError(
        f"{url} shows a certificate that is not trusted here; nothing was sent: {why}"
    )


def _whose(pem: str) -> str:
    """Who a certificate says it is of, with its fingerprint."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    return plain_line(f"{certificate.subject.rfc4514_string()!r} ({certificate_fingerprint(pem)})")


def _hosts(pem: str) -> list[str]:
    """The names and addresses that a certificate is for."""
    certificate = x509.load_pem_x509_certificate(pem.encode())
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in found]


def _shown(url: str) -> str | None:
    """What the platform shows to whoever asks; nothing is said to it, and it proves nothing."""
    parts = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    address = (parts.hostname or "", parts.port or 443)
    try:
        with (
            socket.create_connection(address, timeout=_LOOK_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as link,
        ):
            seen = link.getpeercert(binary_form=True)
            pem = ssl.DER_cert_to_PEM_cert(seen) if seen else None
            if pem is not None:
                x509.load_pem_x509_certificate(pem.encode())
            return pem
    except (OSError, ValueError):
        return None
