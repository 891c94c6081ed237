"""Decide whom a client believes to be the platform: its address, its certificate, its invitation.

An invitation is one file with all three and a one-time code. Whoever has the file can join in the
account's place, so it goes over a channel that is private. The certificate in it is only as good as
that channel: the two of them compare its fingerprint.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import httpx
import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from tacit.errors import FileError, InputError, TrustError
from tacit.files import other_version, read_bytes, replace_secret, writing
from tacit.plain_text import decoders_words, plain_line

_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LONGEST_LABEL = 63
"""So many characters may stand between two dots of a host's name."""
_EXPIRED, _OTHER_NAME, _OTHER_ADDRESS = 10, 62, 64
"""Codes of OpenSSL."""
_LOOK_SECONDS = 5.0
_GET_IT = (
    "get ca.pem from its operator, compare its fingerprint by phone (tacit keys show ca.pem), and "
    "join with --ca ca.pem"
)


def checked_url(url: str, /) -> str:
    """The address of a platform without a slash at its end; a token never travels unencrypted."""
    scheme, host, _ = _contacted(url)
    # On this machine there is nobody in between who could read the token.
    if scheme == "http" and host not in _LOOPBACK:
        raise InputError(
            f"{url} is not encrypted, and your token would travel in the open; use https://"
        )
    return url.rstrip("/")


def platform_address(url: str, /) -> str:
    """Return the address that identifies a platform: scheme, host and port, in one form.

    >>> platform_address("HTTPS://Platform.Example/"), platform_address("http://[::1]:8443")
    ('https://platform.example:443', 'http://[::1]:8443')
    """
    # The port is always written: what is signed must not depend on how an address was typed.
    scheme, host, port = _contacted(checked_url(url))
    shown = f"[{host}]" if ":" in host else host.removesuffix(".")
    return f"{scheme}://{shown}:{port}"


def _contacted(url: str) -> tuple[str, str, int]:
    """Scheme, host and port that a connection to this address is made to.

    They are what the HTTP client itself makes of it. Another reading of the same text, such as
    Python's of names that are not ASCII, would sign for one host while another is contacted.
    """
    try:
        parts = httpx.URL(url)
        host = parts.raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError):
        parts, host = httpx.URL(), ""
    port = {"http": 80, "https": 443}.get(parts.scheme, 0) if parts.port is None else parts.port
    labels = host.removesuffix(".").split(".")
    if (
        parts.scheme not in ("http", "https")
        or not all(0 < len(label) <= _LONGEST_LABEL for label in labels)
        or not 0 < port < 1 << 16
    ):
        raise InputError(f"{url!r} is not the address of a platform; write https://host:port")
    return parts.scheme, host, port


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
    """Choose what a client pins of a server's chain; None where a public authority signed.

    A server's own certificate is pinned as it is. If an authority signed it, the authority is: the
    server's certificate changes every few months, and its authority does not.
    """
    # Only a self-signed certificate in the chain can be pinned: a public authority's is not sent.
    for each in x509.load_pem_x509_certificates(pem.encode()):
        if each.issuer == each.subject:
            return each.public_bytes(Encoding.PEM).decode()
    return None


def read_pem(path: Path, /) -> str:
    """Read a file with one certificate or several."""
    remedy = "get ca.pem from the platform's operator"
    raw = read_bytes(path, remedy=remedy)
    try:
        x509.load_pem_x509_certificates(raw)
        return raw.decode()
    except ValueError:
        raise FileError(path, None, "is not a certificate in PEM", remedy) from None


@contextmanager
def pinned_if_accepted(folder: Path, certificate: str | None, /) -> Iterator[Path | None]:
    """Pin a platform's certificate in a folder once the block has handed in an invitation.

    Yields the certificate to connect with: the new one, or the one pinned before.
    """
    pinned, new = folder / "ca.pem", folder / "ca.new"
    if certificate is None:
        yield pinned if pinned.exists() else None
        return
    # The earlier certificate stays until the platform has accepted the invitation: a mistyped code
    # must not replace what an existing account is verified with.
    try:
        with writing(new, remedy="make room, or choose another folder"):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_secret(new, certificate.encode())
        yield new
        new.replace(pinned)
    finally:
        new.unlink(missing_ok=True)


def tls_context(ca: Path | None, /) -> ssl.SSLContext:
    """Trust a pinned certificate alone, or without one what this computer trusts.

    A certificate that is not an authority's is the platform's own. It then identifies the platform
    whatever the address.
    """
    if ca is None:
        return ssl.create_default_context()
    pem = read_pem(ca)
    pinned = x509.load_pem_x509_certificates(pem.encode())
    # With `cadata` no authority of the system is loaded: any of them could sign for an impostor.
    context = ssl.create_default_context(cadata=pem)
    # A server's own certificate has no root behind it, and is trusted as it stands.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    # Python 3.13 asks authorities for extensions that a pinned certificate can do without.
    context.verify_flags &= ~ssl.VerifyFlags.VERIFY_X509_STRICT
    # An authority signs for many hosts, so the name counts. A server's own certificate is the
    # platform itself, under whatever address it is reached.
    context.check_hostname = any(_is_authority(each) for each in pinned)
    return context


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def untrusted(url: str, ca: Path | None, error: ssl.SSLCertVerificationError, /) -> TrustError:
    """Build an error that states what the platform shows, what was expected, and a remedy."""
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
    certificate = x509.load_pem_x509_certificate(pem.encode())
    return plain_line(f"{certificate.subject.rfc4514_string()!r} ({certificate_fingerprint(pem)})")


def _hosts(pem: str) -> list[str]:
    certificate = x509.load_pem_x509_certificate(pem.encode())
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in found]


def _shown(url: str) -> str | None:
    """Fetch the certificate that the platform shows, for an error message.

    Nothing is sent to it, and nothing is trusted because of it.
    """
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


FORMAT: Literal["tacit-invitation/1"] = "tacit-invitation/1"
SUFFIX = ".tacit"
_ACCOUNT = re.compile(r"[^\W_][\w.-]{0,62}")
_REMEDY = "ask the operator for a new one"


class InvitationFile(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a newcomer needs to join."""

    format: Literal["tacit-invitation/1"] = FORMAT
    url: str
    account: str
    role: str
    code: str
    expires: float
    certificate: str | None = None
    """The platform's, in PEM; None where computers trust its authority anyway."""
    run: str | None = None
    """The run that it is an invitation to."""

    @property
    def fingerprint(self) -> str | None:
        """Of the certificate, to compare by phone."""
        return None if self.certificate is None else certificate_fingerprint(self.certificate)

    def save(self, path: Path, /) -> None:
        with writing(path):
            # For its owner alone: whoever reads the code can join in the account's place.
            replace_secret(path, self.as_file())

    def as_file(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def _check_plain(found: InvitationFile) -> None:
    """Refuse what would move a terminal's cursor or, as a file's name, lead out of a folder."""
    if not _ACCOUNT.fullmatch(found.account):
        raise ValueError("its account is not a name")
    if any(text != plain_line(text) for text in (found.url, found.code, found.role)):
        raise ValueError("there are signs in it that nobody sees")


def read_invitation(path: Path, /) -> InvitationFile:
    raw = read_bytes(path, remedy="check the path, or ask the operator for the file")
    try:
        found = msgspec.json.decode(raw, type=InvitationFile)
        checked_url(found.url)
        _check_plain(found)
        if found.certificate is not None:
            found = msgspec.structs.replace(found, certificate=one_certificate(found.certificate))
    except (msgspec.DecodeError, ValueError) as error:
        what = other_version(raw, FORMAT) or f"is not an invitation ({decoders_words(error)})"
        raise FileError(path, None, what, _REMEDY) from None
    except InputError as error:
        raise FileError(path, "url", str(error), _REMEDY) from None
    return found


def given_invitation(
    given: str, code: str | None = None, /, *, ca: Path | None = None
) -> InvitationFile:
    """Read an invitation file, or build one from an address, a code and a certificate to pin."""
    if code is None and not given.startswith(("https://", "http://")):
        if ca is not None:
            raise InputError("an invitation file has the certificate in it; leave --ca out")
        return read_invitation(Path(given))
    if code is None:
        raise InputError(f"give the code after the address, or an invitation file ({SUFFIX})")
    certificate = None if ca is None else read_pem(ca)
    return InvitationFile(
        url=given, account="", role="", code=code, expires=0.0, certificate=certificate
    )
