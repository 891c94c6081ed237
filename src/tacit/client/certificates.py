"""Whom a client believes to be the platform: its address, and its certificate."""

from __future__ import annotations

import ssl
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.errors import FileError, InputError
from tacit.files import read_bytes

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def checked_url(url: str, /) -> str:
    """The address of a platform without a slash at its end; a token never travels unencrypted."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(f"{url!r} is not the address of a platform; write https://host:port")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise InputError(
            f"{url} is not encrypted, and your token would travel in the open; use https://"
        )
    return url.rstrip("/")


def platform_address(url: str, /) -> str:
    """By what a platform is told from others: scheme, host and port, in one form.

    >>> platform_address("HTTPS://Platform.Example/"), platform_address("http://[::1]:8443")
    ('https://platform.example:443', 'http://[::1]:8443')
    """
    parts = urlsplit(checked_url(url))
    try:
        host, port = (parts.hostname or "").rstrip("."), parts.port
        shown = f"[{host}]" if ":" in host else host.encode("idna").decode()
    except ValueError:
        raise InputError(
            f"{url!r} is not the address of a platform; write https://host:port"
        ) from None
    return f"{parts.scheme}://{shown}:{port or (443 if parts.scheme == 'https' else 80)}"


def certificate_fingerprint(pem: str, /) -> str:
    """A certificate's SHA-256, as much of it as two people compare by phone (128 bits).

    Of several it has those of all: whatever is trusted is compared.
    """
    found = x509.load_pem_x509_certificates(pem.encode())
    digests = [each.fingerprint(SHA256()).hex() for each in found]
    return ", and ".join(
        " ".join(digest[at : at + 8] for at in range(0, 32, 8)) for digest in digests
    )


def one_certificate(pem: str, /) -> str:
    """The only certificate of a text, written anew: nothing beside it is ever trusted."""
    found = x509.load_pem_x509_certificates(pem.encode())
    if len(found) != 1:
        raise ValueError(f"it has {len(found)} certificates in place of one")
    return found[0].public_bytes(Encoding.PEM).decode()


def certificate_to_pin(pem: str, /) -> str | None:
    """What a client pins of the chain that a server shows; None where a public authority signed.

    A server's own certificate is pinned as it is. If an authority signed it, the authority is: the
    server's certificate changes every few months, and its authority does not.
    """
    for each in x509.load_pem_x509_certificates(pem.encode()):
        if each.issuer == each.subject:
            return each.public_bytes(Encoding.PEM).decode()
    return None


def tls_context(ca: Path | None, /) -> ssl.SSLContext:
    """Trust a pinned certificate alone, or without one what this computer trusts.

    A certificate that is not an authority's is the platform's own. It then identifies the platform
    whatever the address.
    """
    if ca is None:
        return ssl.create_default_context()
    remedy = "get ca.pem from the platform's operator"
    raw = read_bytes(ca, remedy=remedy)
    try:
        pinned = x509.load_pem_x509_certificates(raw)
        context = ssl.create_default_context(cafile=ca)
    except ValueError:
        raise FileError(ca, None, "is not a certificate in PEM", remedy) from None
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    # Python 3.13 asks authorities for extensions that a pinned certificate can do without.
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    context.check_hostname = any(_is_authority(each) for each in pinned)
    return context


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
