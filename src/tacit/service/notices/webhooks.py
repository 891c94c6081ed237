"""Calls to webhooks: signed, over HTTPS, no redirects followed, not into one's own network.

An account chooses the address, and the platform stands where that account does not. So the address
is looked up here, each one that it stands for must be on the public internet, and the connection
goes to the one that was checked.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import secrets
import socket
import ssl
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import msgspec

from tacit.client import webhook_signature
from tacit.errors import FileError, ServiceError, TacitError
from tacit.files import check_secret, create_secret, read_bytes

HEADER = "Tacit-Signature"
KEY_FILE, KEY_BYTES = "webhooks.key", 32
CALL_SECONDS = 10.0
_UNICAST = ipaddress.ip_network("2000::/3")
"""All others are of this machine or network, or a translator turns them into such."""


class UndeliveredError(TacitError):
    """A notice did not arrive; it is tried again."""


def webhook_key(folder: Path, /) -> bytes:
    """What the secrets of all webhooks follow from; made when it is first needed."""
    path = folder / KEY_FILE
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        create_secret(path, secrets.token_bytes(KEY_BYTES))
    check_secret(path, remedy="chmod 600 it")
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise FileError(path, None, "is damaged", "remove it; webhooks then have new secrets")
    return key


def webhook_secret(key: bytes, webhook: str, /) -> str:
    """The secret of one webhook."""
    digest = hmac.new(key, b"tacit webhook/1\n" + webhook.encode(), hashlib.sha256).digest()
    return "tcw_" + base64.urlsafe_b64encode(digest).decode().rstrip("=")


def checked_webhook_url(url: str, /, *, over_http: bool) -> str:
    """An address that can be called, or a `ServiceError` that says why not."""
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
    """The address to connect to; refused if any that the name stands for is not public."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UndeliveredError(f"{host} cannot be found ({error.strerror})") from None
    addresses = [str(each[4][0]) for each in found]
    if not to_private and not all(is_public(each) for each in addresses):
        raise UndeliveredError(f"{host} is not on the public internet; see docs/configuration.md")
    return addresses[0]


def trusted_authorities(own: Path | None, /) -> ssl.SSLContext:
    """Whose certificates webhooks may show: public authorities', this computer's, and `own`."""
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
                follow_redirects=False, trust_env=False, timeout=None, verify=trusted
            ) as client,
        ):
            address = await address_of(host, port, to_private=to_private)
            target = httpx.URL(url).copy_with(host=address, port=port)
            options = {"sni_hostname": host} if is_https else {}
            asked = client.build_request(
                "POST", target, content=data, headers=headers, extensions=options
            )
            answer = await client.send(asked, stream=True)
            await answer.aclose()
    except TimeoutError:
        raise UndeliveredError(f"no answer within {CALL_SECONDS:g} s") from None
    except (httpx.HTTPError, OSError, ValueError) as error:
        raise UndeliveredError(f"{type(error).__name__}: {error}"[:200]) from None
    if not answer.is_success:
        raise UndeliveredError(f"the answer was {answer.status_code}")
