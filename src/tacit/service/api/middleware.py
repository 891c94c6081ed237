"""Give every request a number and a log line, a largest size, and security headers.

Plain ASGI, so that streams and web sockets pass through untouched.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service.api.encoding import error_answer
from tacit.service.api.intake import PREFIX, SMALL_BYTES, may_be_large

BODY_SECONDS, BODY_BYTES_PER_SECOND = 20.0, 32_000
"""What a body may take in all: so long, and a second more for so many bytes that have come. A
slower client holds a connection on purpose."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
"""Others are counted together, since clients can invent any number of them."""
API_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self' ws: wss:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
)
"""The dashboard compiles its templates in the browser, which is why it evaluates scripts."""
COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

log = logging.getLogger("tacit.service.requests")


class SecurityHeaders:
    """Sets the headers that restrict what browsers do with an answer."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app, self._https = app, https

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_api = scope["path"].startswith(PREFIX)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in COMMON_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", API_POLICY if is_api else PAGE_POLICY)
                if is_api:
                    # Answers may have a code or token that is shown only once: no cache may keep
                    # it.
                    headers.setdefault("Cache-Control", "no-store")
                if self._https:
                    headers.setdefault("Strict-Transport-Security", "max-age=31536000")
            await send(message)

        await self._app(scope, receive, send_with_headers)


class SizeLimit:
    """Refuses bodies that are too large, whether they announce their size or come in chunks."""

    def __init__(self, app: ASGIApp, *, most_bytes: int) -> None:
        self._app, self._most = app, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_large = may_be_large(scope["method"], scope["path"])
        most, taken, waited = (self._most if is_large else min(self._most, SMALL_BYTES)), 0, 0.0
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        # 18 digits are more than any limit; Python refuses to convert thousands of them.
        if not announced.isdigit() or int(announced[:18]) > most:
            await error_answer(413, "too_large", f"the request exceeds {most} bytes; send less")(
                scope, receive, send
            )
            return

        is_complete = False

        async def receive_counted() -> Message:
            nonlocal taken, waited, is_complete
            if is_complete:
                # Only a disconnect can come now, at any time: an event stream waits for hours.
                return await receive()
            # The waits for the client alone: before it is read, a body may wait for its turn.
            begun = time.monotonic()
            left = BODY_SECONDS + taken / BODY_BYTES_PER_SECOND - waited
            try:
                async with asyncio.timeout(left):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408) from None
            waited += time.monotonic() - begun
            is_complete = not message.get("more_body", False)
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413)
            return message

        await self._app(scope, receive_counted, send)


class RequestLog:
    """One line per request: no query, no header and no body, since those may hold secrets."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 0
        # A mounted app replaces scope["app"] during the call.
        execution = scope["app"].state.platform.execution
        scope["tacit_request"] = secrets.token_hex(6)

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            who = scope.get("state", {}).get("who")
            fields = {
                "request": scope["tacit_request"],
                "method": scope["method"],
                # Clients invent paths, and a long one must not fill the log.
                "path": scope["path"][:200],
                "status": status,
                "ms": round((time.perf_counter() - started) * 1000, 1),
                "account": None if who is None else who.account,
                "client": (scope.get("client") or ("",))[0],
            }
            log.info("request", extra={"fields": fields})
            method = scope["method"] if scope["method"] in METHODS else "other"
            execution.metrics.request(method, status, time.perf_counter() - started)
