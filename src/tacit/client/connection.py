"""HTTP to the platform: a pinned certificate, a token, event streams, and errors with remedies."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Self, TypeVar

import httpx
import msgspec

from tacit.client.certificates import checked_url, tls_context, untrusted
from tacit.client.models import ErrorAnswer
from tacit.errors import (
    CredentialError,
    InternalError,
    OverloadedError,
    PlatformError,
    ServiceError,
    TooManyError,
    TrustError,
    UnreachableError,
    UnreadableError,
    WaitingError,
    service_error,
)
from tacit.plain_text import plain_line

T = TypeVar("T")

API = "/api/v1"
TIMEOUT_SECONDS = 30.0
"""So long a whole answer may take, from the question to its last byte."""
MOST_BYTES = 16 << 20
"""So large may it be."""
BULK_SECONDS, MOST_BULK_BYTES = 600.0, 1 << 30
"""The same for ledgers and logs, which grow with a run."""
SILENT_SECONDS = 4.0
"""After so long without an answer a warning is logged."""
CLOSING_SECONDS = 2.0
"""So long what is left of a stream may take to close."""
log = logging.getLogger("tacit.client")


_READ_ERROR = msgspec.json.Decoder(ErrorAnswer)
_describing = threading.Lock()


_decoders: dict[object, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    # msgspec describes a type at its first use. Two threads that did so at once have crashed there.
    with _describing:
        if kind not in _decoders:
            _decoders[kind] = msgspec.json.Decoder(kind)
        return _decoders[kind]


class Connection:
    """An account's connection to a platform. Use it in a `with` statement."""

    def __init__(
        self,
        url: str,
        /,
        *,
        token: str | None = None,
        ca: Path | None = None,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        """`ca` is the platform's certificate, which then alone is trusted."""
        self.url = checked_url(url)
        self.clock_offset: float | None = None
        """Seconds that the platform's clock was ahead of ours at the last answer."""
        self._timeout, self._ca = timeout, ca
        self._http = httpx.AsyncClient(
            base_url=self.url + API,
            verify=tls_context(ca) if self.url.startswith("https:") else True,
            # A packed answer could unpack to more than there is room for.
            headers={"Accept-Encoding": "identity"},
            timeout=timeout,
        )
        if token is not None:
            self.show_token(token)
        # On an event loop one limit counts for all of an answer, however slowly it drips. It has a
        # thread of its own, since a caller may be on one already, as in a notebook.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        """Nothing is sent before the first question."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._wait(self._end())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    async def _end(self) -> None:
        await self._http.aclose()
        # A stream that nobody read to its end is closed by tasks of its own, one after the other.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            if (await asyncio.wait(others, timeout=CLOSING_SECONDS))[1]:
                return
        await self._loop.shutdown_asyncgens()

    def show_token(self, token: str, /) -> None:
        """Show this token with every question from now on."""
        self._http.headers["Authorization"] = f"Bearer {token}"

    def _wait(self, work: Coroutine[Any, Any, T], *, quiet: bool = False) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            try:
                return future.result(None if quiet else SILENT_SECONDS)
            except FutureTimeout:
                # The work itself ran out of time, and not this wait for it.
                if future.done():
                    raise
            log.warning("%s has not answered for %g s; waiting", self.url, SILENT_SECONDS)
            return future.result()
        except KeyboardInterrupt:
            # Otherwise the request would go on in its thread, unseen.
            future.cancel()
            raise

    def get(self, path: str, kind: type[T], /, *, bulk: bool = False) -> T:
        return self._read(self.send("GET", path, bulk=bulk), kind)

    def post(self, path: str, body: object, kind: type[T], /, *, bulk: bool = False) -> T:
        return self._read(self.send("POST", path, body, bulk=bulk), kind)

    def put(self, path: str, body: object, kind: type[T], /) -> T:
        return self._read(self.send("PUT", path, body), kind)

    def send(self, method: str, path: str, body: object = None, /, *, bulk: bool = False) -> bytes:
        """The bytes of an answer, or an error in one line; a `bulk` one may be large and slow."""
        within, most = (BULK_SECONDS, MOST_BULK_BYTES) if bulk else (self._timeout, MOST_BYTES)
        try:
            answer, content = self._wait(self._ask(method, path, body, within, most))
        except (httpx.TimeoutException, TimeoutError):
            raise UnreachableError(
                f"{self.url} did not answer within {within:g} s; try again in a moment"
            ) from None
        except httpx.TransportError as error:
            raise self._unreachable(error) from None
        # Also of a refusal: its date shows how far the clocks differ.
        self._note_clock(answer)
        if not answer.is_success:
            raise self._refusal(answer, content)
        return content

    async def _ask(
        self, method: str, path: str, body: object, within: float, most: int
    ) -> tuple[httpx.Response, bytes]:
        sent = None if body is None else msgspec.json.encode(body)
        headers = None if body is None else {"Content-Type": "application/json"}
        asked = self._http.build_request(method, path, content=sent, headers=headers)
        async with asyncio.timeout(within):
            answer = await self._http.send(asked, stream=True)
            try:
                return answer, await self._all_of(answer.aiter_raw(), most)
            finally:
                await answer.aclose()

    async def _all_of(self, chunks: AsyncIterator[bytes], most: int) -> bytes:
        content = bytearray()
        async for chunk in chunks:
            content += chunk
            if len(content) > most:
                # A hostile platform must not fill this machine's memory.
                raise UnreadableError(
                    f"{self.url} sends more than {most >> 20} MB, which no answer takes; "
                    "check the address, and tell its operator"
                )
        return bytes(content)

    def stream(
        self, path: str, headers: Mapping[str, str], /, *, within: Callable[[], float]
    ) -> Iterator[bytes]:
        """An answer as it comes, however long that goes on.

        `within` says before each part how many seconds it may take; then there is an error.
        """
        answer: httpx.Response | None = None
        limit = within()
        try:
            answer = self._wait(self._open(path, headers, limit), quiet=True)
            if not answer.is_success:
                content = self._wait(self._all_of(answer.aiter_raw(), MOST_BYTES), quiet=True)
                raise self._refusal(answer, content)
            chunks = answer.aiter_raw()
            while (chunk := self._wait(_next(chunks, limit), quiet=True)) is not None:
                yield chunk
                limit = within()
        except (httpx.TimeoutException, TimeoutError):
            raise UnreachableError(
                f"{self.url} has been silent for {limit:g} s; try again in a moment"
            ) from None
        except httpx.TransportError as error:
            raise self._unreachable(error) from None
        finally:
            if answer is not None:
                self._wait(answer.aclose(), quiet=True)

    async def _open(self, path: str, headers: Mapping[str, str], within: float) -> httpx.Response:
        # A stream may be quiet for long between events; `within` limits each part of it instead.
        asked = self._http.build_request("GET", path, headers=dict(headers), timeout=None)
        async with asyncio.timeout(within):
            return await self._http.send(asked, stream=True)

    def _read(self, data: bytes, kind: type[T]) -> T:
        try:
            return _decoder(kind).decode(data)
        except msgspec.DecodeError as error:
            raise UnreadableError(
                f"{self.url} answers something that is not understood here ({error}); check the "
                "address, and that both sides have the same version of tacit"
            ) from None

    def _unreachable(self, error: httpx.TransportError) -> PlatformError | TrustError:
        # The HTTP library wraps what OpenSSL says; how a certificate fails decides what to do.
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, ssl.SSLCertVerificationError):
                return untrusted(self.url, self._ca, seen)
            seen = seen.__cause__ or seen.__context__
        what = plain_line(error) or type(error).__name__
        return UnreachableError(
            f"{self.url} cannot be reached ({what}); check your network connection and the "
            "address, then try again"
        )

    def _refusal(self, answer: httpx.Response, content: bytes) -> ServiceError:
        error = refusal(answer, content)
        if isinstance(error, CredentialError):
            return CredentialError(
                "the platform does not know your token: it has expired or was revoked; ask the "
                f"operator for a new invitation, then run tacit participant join {self.url} CODE"
            )
        return error

    def _note_clock(self, answer: httpx.Response) -> None:
        try:
            sent_at = parsedate_to_datetime(answer.headers["Date"]).timestamp()
        except (KeyError, ValueError):
            return
        # The header has whole seconds, cut off: on average half a second is missing.
        self.clock_offset = sent_at + 0.5 - time.time()


async def _next(chunks: AsyncIterator[bytes], within: float) -> bytes | None:
    async with asyncio.timeout(within):
        return await anext(chunks, None)


def refusal(answer: httpx.Response, content: bytes, /) -> ServiceError:
    """The error that the platform raised, as its code names it, with the platform's sentence.

    >>> body = b'{"error": "wrong_state", "message": "the run is running; wait"}'
    >>> refusal(httpx.Response(409), body)
    WrongStateError('the run is running; wait')
    >>> refusal(httpx.Response(502), b"<html>")
    InternalError('the platform failed (502); tell its operator, and try again later')
    """
    # A proxy in front of the platform may answer in its place, with any body.
    status = answer.status_code
    try:
        said = _READ_ERROR.decode(content)
    except msgspec.DecodeError:
        said = ErrorAnswer()
    kind, message = service_error(said.error), plain_line(said.message)
    if kind is ServiceError:
        # No code of ours: what a status means holds for proxies as well.
        by_status: dict[int, type[ServiceError]] = {
            401: CredentialError,
            429: TooManyError,
            503: OverloadedError,
        }
        kind = by_status.get(status, ServiceError)
    if status >= 500 and not issubclass(kind, OverloadedError):
        told = f"{status}: {message}" if message else f"{status}"
        return InternalError(
            f"the platform failed ({told}); tell its operator, and try again later"
        )
    if issubclass(kind, OverloadedError):
        given = plain_line(answer.headers.get("Retry-After", ""))
        # The header may have a date, or whatever a proxy puts there.
        wait = int(given) if given.isdecimal() and len(given) < 6 else None
        text = f"the platform has too much to do; try again in {wait or 60} s"
        if message and kind is not TooManyError:
            text = f"the platform cannot do that now: {message}; try again later"
        return kind(text, retry_after=wait)
    error = kind(message or f"the platform refuses ({status}); ask its operator why")
    error.status = status
    return error


STREAM_SILENT_SECONDS = 30.0
"""The platform sends a line every 10 s, so one that is silent for longer is away."""
PAUSES_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Between attempts to reach a platform that is away; the last one repeats."""
LONGEST_EVENT = 1 << 20


class RunEvent(msgspec.Struct, frozen=True):
    """Something that happened to a run: `state`, `member`, `progress` or `warning`.

    One of kind `here` says that the platform listens from now on: earlier events may
    have been missed, so a waiting client reads the state first.
    """

    kind: str
    id: int = 0
    run: str = ""
    at: float = 0.0
    data: dict[str, Any] = {}


HERE = RunEvent("here")


def watch(
    connection: Connection, path: str, /, *, after: int | None = None, until: float | None = None
) -> Iterator[RunEvent]:
    """The events of a stream after one of them, or from now on; a lost platform is asked again.

    `until` is an instant of `time.monotonic`, after which a `WaitingError` ends it.
    """
    # The number of the last event is sent along when a stream is opened again, so that none that
    # happened in between is lost.
    last, pauses = after, iter(PAUSES_SECONDS)
    while True:
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        try:
            for event in _events(connection.stream(path, headers, within=lambda: _left(until))):
                last = max(last or 0, event.id) or None
                # The platform is back: the next loss begins with short pauses again.
                pauses = iter(PAUSES_SECONDS)
                yield event
        except (UnreachableError, OverloadedError) as error:
            _check_time(until)
            log.warning("%s", error)
        # Also after a stream that ended by itself: asked again at once, a proxy that ends every
        # stream would be asked without a pause.
        pause = next(pauses, PAUSES_SECONDS[-1])
        time.sleep(pause if until is None else max(0.0, min(pause, until - time.monotonic())))
        _check_time(until)


def _left(until: float | None) -> float:
    if until is None:
        return STREAM_SILENT_SECONDS
    return max(0.001, min(STREAM_SILENT_SECONDS, until - time.monotonic()))


def _check_time(until: float | None) -> None:
    if until is not None and time.monotonic() >= until:
        raise WaitingError("it did not happen in time; ask again, or give a longer --timeout")


def _events(chunks: Iterator[bytes]) -> Iterator[RunEvent]:
    r"""The events in a stream of server-sent events.

    >>> text = b': here\n\nid: 7\nevent: state\ndata: {"run":"r-x","at":1,"state":"running"}\n\n'
    >>> [(each.kind, each.id, each.data) for each in _events(iter([text[:30], text[30:]]))]
    [('here', 0, {}), ('state', 7, {'state': 'running'})]
    """
    unread = b""
    for chunk in chunks:
        *whole, unread = (unread + chunk).split(b"\n\n")
        # Without a limit an event that never ends would fill the memory.
        if len(unread) > LONGEST_EVENT:
            raise UnreadableError("the platform sends an event without an end; tell its operator")
        for block in whole:
            if block == b": here":
                yield HERE
            elif not block.startswith(b":"):
                yield _event(block)


def _event(block: bytes) -> RunEvent:
    fields = dict(line.partition(b": ")[::2] for line in block.split(b"\n"))
    try:
        data = msgspec.json.decode(fields[b"data"], type=dict[str, Any])
        kind, number = fields[b"event"].decode(), int(fields[b"id"])
        return RunEvent(kind, number, str(data.pop("run")), float(data.pop("at")), data)
    except (KeyError, ValueError, TypeError, msgspec.DecodeError):
        raise UnreadableError(
            "the platform sends an event that is not understood here; check that both sides have "
            "the same version of tacit"
        ) from None
