"""Deliver a notice once: by mail over SMTP, or by a signed call to a webhook.

An account chooses the webhook's address, and the platform may reach hosts that this account cannot.
So the platform looks the address up itself, requires that each address the name stands for is on
the public internet, and connects to the one that it checked. It follows no redirects.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import smtplib
import socket
import ssl
import time
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec

from tacit.client import tls_context, webhook_signature
from tacit.errors import FileError, ServiceError, TacitError
from tacit.files import check_secret, read_bytes, read_text
from tacit.service.server.settings import (
    WEBHOOKS_KEY,
    WEBHOOKS_KEY_BYTES,
    MailSettings,
    Settings,
)

HEADER = "Tacit-Signature"
CALL_SECONDS = 10.0
SEND_SECONDS = 20.0
_UNICAST = ipaddress.ip_network("2000::/3")
"""Other addresses are of this machine or network, or are translated into such."""


NOT_DELIVERED = "it was not delivered; the operator finds the reason in the platform's log"


class UndeliveredError(TacitError):
    """A notice did not arrive; it is tried again.

    Its message is for operators. `shown` is what the account sees that chose the address: it must
    not tell which names the platform can resolve, nor what answers in the platform's network.
    """

    def __init__(self, message: str, /, *, shown: str = NOT_DELIVERED) -> None:
        self.shown = shown
        super().__init__(message)


def webhook_key(settings: Settings, /) -> bytes:
    """Return the key that the secrets of all webhooks follow from."""
    path = settings.place(WEBHOOKS_KEY)
    # Never made here: of several hosts each would make its own, and none could sign for another.
    check_secret(path, remedy="copy it from where tacit service init was run")
    key = path.read_bytes()
    if len(key) != WEBHOOKS_KEY_BYTES:
        raise FileError(path, None, "is damaged", "restore it from a backup")
    return key


def webhook_secret(key: bytes, webhook: str, /) -> str:
    # Derived, not stored: a copy of the database alone does not let anybody forge calls.
    digest = hmac.new(key, b"tacit webhook/1\n" + webhook.encode(), hashlib.sha256).digest()
    return "tcw_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def checked_webhook_url(url: str, /, *, over_http: bool) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ServiceError("this is not an address; write https://host/path") from None
    schemes = ("https", "http") if over_http else ("https",)
    if parts.scheme not in schemes or not parts.hostname or port == 0:
        raise ServiceError("a webhook has an address that begins with https:// and a host")
    if parts.username or parts.password:
        raise ServiceError("leave names and passwords out of the address; calls are signed")
    return url


def is_public(address: str, /) -> bool:
    """Whether an address is one of the public internet.

    >>> [is_public(each) for each in ("1.1.1.1", "10.0.0.1", "::1", "::ffff:127.0.0.1")]
    [True, False, False, False]
    >>> [is_public(each) for each in ("2606:4700::1", "64:ff9b:1::a00:1", "fec0::1", "::10.0.0.1")]
    [True, False, False, False]
    """
    known = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(known, ipaddress.IPv6Address):
        if known not in _UNICAST and known.ipv4_mapped is None:
            return False
        inner = known.ipv4_mapped or known.sixtofour
        if inner is not None:
            return inner.is_global and not inner.is_multicast
    return known.is_global and not known.is_multicast


async def address_of(host: str, port: int, /, *, to_private: bool) -> str:
    """Return the address to connect to; refuse a name that stands for any private address."""
    try:
        resolved = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UndeliveredError(f"{host} cannot be found ({error.strerror})") from None
    # The caller connects to the address that is checked here. Looked up again, the name could
    # stand for another one by then (DNS rebinding).
    addresses = [str(each[4][0]) for each in resolved]
    if not to_private and not all(is_public(each) for each in addresses):
        raise UndeliveredError(f"{host} is not on the public internet; see docs/configuration.md")
    return addresses[0]


def trusted_authorities(own: Path | None, /) -> ssl.SSLContext:
    """Return the authorities trusted for webhooks: public ones, this computer's, and `own`."""
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    if own is not None:
        remedy = "correct webhooks_ca in service.toml"
        pem = read_bytes(own, remedy=remedy)
        try:
            context.load_verify_locations(cadata=pem.decode())
        except (ssl.SSLError, ValueError):
            raise FileError(own, None, "is not a certificate in PEM", remedy) from None
    return context


async def call_webhook(
    url: str,
    body: dict[str, object],
    /,
    *,
    secret: str,
    to_private: bool,
    trusted: ssl.SSLContext,
) -> None:
    """Call a webhook once; anything but an answer of 2xx in time is an `UndeliveredError`.

    Over HTTPS it gets nothing before it has shown a certificate for its name that is `trusted`.
    """
    parts = urlsplit(url)
    host, is_https = str(parts.hostname), parts.scheme == "https"
    port = parts.port or (443 if is_https else 80)
    data, seconds = msgspec.json.encode(body), int(time.time())
    headers = {
        "Content-Type": "application/json",
        "Host": parts.netloc,
        HEADER: webhook_signature(secret, data, seconds=seconds),
    }
    try:
        async with (
            asyncio.timeout(CALL_SECONDS),
            httpx.AsyncClient(
                # A redirect or a proxy would lead to an address that was not checked. The timeout
                # of httpx counts anew at each step, which a slow receiver could stretch; the one
                # above is for the whole call.
                follow_redirects=False,
                trust_env=False,
                timeout=None,
                verify=trusted,
            ) as client,
        ):
            address = await address_of(host, port, to_private=to_private)
            target = httpx.URL(url).copy_with(host=address, port=port)
            # The connection goes to the checked address, and the certificate must be one for the
            # name.
            options = {"sni_hostname": host} if is_https else {}
            request = client.build_request(
                "POST", target, content=data, headers=headers, extensions=options
            )
            answer = await client.send(request, stream=True)
            # The body is not read: a receiver could send without end.
            await answer.aclose()
    except TimeoutError:
        raise UndeliveredError(f"no answer within {CALL_SECONDS:g} s") from None
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise UndeliveredError(f"{type(error).__name__}: {error}"[:200]) from None
    if not answer.is_success:
        what = f"the answer was {answer.status_code}"
        raise UndeliveredError(what, shown=what)


def message_about(text: str, /, *, to: str, settings: Settings, mail: MailSettings) -> EmailMessage:
    """Return a notice as a message."""
    message = EmailMessage()
    message["From"], message["To"] = mail.sender, to
    message["Subject"] = f"tacit: {text}"
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=mail.sender.rpartition("@")[2])
    # Keeps holiday responders from answering (RFC 3834).
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(f"{text[0].upper()}{text[1:]}.\n\n{settings.url}\n")
    return message


def send_mail(message: EmailMessage, settings: Settings, mail: MailSettings, /) -> None:
    """Hand a message to the server, or an `UndeliveredError` that says why it did not take it."""
    context = tls_context(None if mail.ca is None else settings.place(mail.ca))
    try:
        with _connected(mail, context) as server:
            if mail.security == "starttls":
                server.starttls(context=context)
            if mail.user is not None and mail.password_file is not None:
                path = settings.place(mail.password_file)
                check_secret(path, remedy="chmod 600 it")
                server.login(mail.user, read_text(path).strip())
            server.send_message(message)
    except (smtplib.SMTPException, OSError) as error:
        raise UndeliveredError(f"{type(error).__name__}: {error}"[:200]) from None


def _connected(mail: MailSettings, context: ssl.SSLContext) -> smtplib.SMTP:
    if mail.security == "tls":
        return smtplib.SMTP_SSL(mail.host, mail.port, timeout=SEND_SECONDS, context=context)
    return smtplib.SMTP(mail.host, mail.port, timeout=SEND_SECONDS)
