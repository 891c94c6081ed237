"""HTTP to the platform: a pinned certificate, a token, and errors that say what to do."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import Coroutine
from concurrent.futures import TimeoutError as FutureTimeout
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec
from cryptography import x509

from tacit.errors import FileError, InputError, PlatformError, TrustError
from tacit.files import read_bytes
from tacit.participant.account.untrusted import untrusted
from tacit.participant.plain_text import plain_line

T = TypeVar("T")

API = "/api/v1"
TIMEOUT_SECONDS = 30.0
"""So long a whole answer may take, from the question to its last byte."""
MOST_BYTES = 16 << 20
"""So large may it be."""
BULK_SECONDS, MOST_BULK_BYTES = 600.0, 1 << 30
"""The same for ledgers and logs, which grow with a run."""
SILENT_SECONDS = 4.0
"""After so long somebody who waits is told so."""
log = logging.getLogger("tacit.participant")
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class PlatformClient:
    """One participant's connection. Use it in a `with` statement."""

    def __init__(
        self,
        url: str,
        /,
        *,
        token: str | None = None,
        ca: Path | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.url = checked_url(url)
        self.clock_offset: float | None = None
        """Seconds that the platform's clock was ahead of ours at the last answer."""
        self._timeout, self._ca = timeout, ca
        # A packed answer could unpack to more than there is room for.
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.AsyncClient(
            base_url=self.url + API,
            verify=tls_context(ca) if self.url.startswith("https:") else True,
            headers=headers,
            timeout=timeout,
        )
        # On an event loop one limit counts for all of an answer, however slowly it drips. It has a
        # thread of its own, since a caller may be on one already, as in a notebook.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> PlatformClient:
        """Nothing is sent before the first question."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        try:
            self._wait(self._http.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            try:
                return future.result(SILENT_SECONDS)
            except FutureTimeout:
                if future.done():
                    raise
            log.warning("%s has not answered for %g s; waiting", self.url, SILENT_SECONDS)
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def get(self, path: str, kind: type[T], /) -> T:
        """Ask for something."""
        return self._read(self.send("GET", path), kind)

    def post(self, path: str, body: object, kind: type[T], /, *, bulk: bool = False) -> T:
        """Hand something over."""
        return self._read(self.send("POST", path, body, bulk=bulk), kind)

    def send(self, method: str, path: str, body: object = None, /, *, bulk: bool = False) -> bytes:
        """The bytes of an answer, or an error in one line; a `bulk` one may be large and slow."""
        within, most = (BULK_SECONDS, MOST_BULK_BYTES) if bulk else (self._timeout, MOST_BYTES)
        try:
            answer, content = self._wait(self._ask(method, path, body, within, most))
        except (httpx.TimeoutException, TimeoutError):
            raise PlatformError(
                f"{self.url} did not answer within {within:g} s; try again in a moment"
            ) from None
        except httpx.TransportError as error:
            raise self._unreachable(error) from None
        self._note_clock(answer)
        if not answer.is_success:
            raise _refusal(answer, content, self.url)
        return content

    async def _ask(
        self, method: str, path: str, body: object, within: float, most: int
    ) -> tuple[httpx.Response, bytes]:
        sent = None if body is None else msgspec.json.encode(body)
        headers = None if body is None else {"Content-Type": "application/json"}
        asked = self._http.build_request(method, path, content=sent, headers=headers)
        content = bytearray()
        async with asyncio.timeout(within):
            answer = await self._http.send(asked, stream=True)
            try:
                async for chunk in answer.aiter_raw():
                    content += chunk
                    if len(content) > most:
                        raise PlatformError(
                            f"{self.url} sends more than {most >> 20} MB, which no answer takes; "
                            "check the address, and tell its operator"
                        )
            finally:
                await answer.aclose()
        return answer, bytes(content)

    def _read(self, data: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(data, type=kind)
        except msgspec.DecodeError as error:
            raise PlatformError(
                f"{self.url} answers something that is not understood here ({error}); check the "
                "address, and that both sides have the same version of tacit"
            ) from None

    def _unreachable(self, error: httpx.TransportError) -> PlatformError | TrustError:
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, ssl.SSLCertVerificationError):
                return untrusted(self.url, self._ca, seen)
            seen = seen.__cause__ or seen.__context__
        what = plain_line(error) or type(error).__name__
        return PlatformError(
            f"{self.url} cannot be reached ({what}); check your network connection and the "
            "address, then try again"
        )

    def _note_clock(self, answer: httpx.Response) -> None:
        try:
            sent_at = parsedate_to_datetime(answer.headers["Date"]).timestamp()
        except (KeyError, ValueError):
            return
        # The header has whole seconds, cut off: on average half a second is missing.
        self.clock_offset = sent_at + 0.5 - time.time()


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


def _refusal(answer: httpx.Response, content: bytes, url: str) -> PlatformError:
    status = answer.status_code
    try:
        answered = msgspec.json.decode(content, type=dict[str, Any])
        message = plain_line(answered.get("message", ""))
    except msgspec.DecodeError:
        message = ""
    if status == 401:
        text = (
            "the platform does not know your token: it has expired or was revoked; ask the "
            f"operator for a new invitation, then run tacit participant join {url} CODE"
        )
    elif status == 429:
        wait = plain_line(answer.headers.get("Retry-After", "60"))
        text = f"the platform has too much to do; try again in {wait} s"
    elif status >= 500:
        text = f"the platform failed ({status}{': ' + message if message else ''}); tell its "
        text += "operator, and try again later"
    else:
        text = message or f"the platform refuses ({status}); ask its operator why"
    return PlatformError(text, status=status)
