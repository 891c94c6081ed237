"""Admit or refuse every request for a page, before NiceGUI sees it.

Plain ASGI, so that it also stands before the pages' web socket. Without a session there is only the
sign-in page, at a limited rate per address. Whatever may change something must come from a page of
the platform.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from functools import cache
from html import escape
from http import HTTPStatus
from inspect import isawaitable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from nicegui import Client, core
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import StorageError, TooManyError
from tacit.service.access.limits import RateLimit
from tacit.service.api.gate import Platform, network_of
from tacit.service.api.intake import may_be_large
from tacit.service.dashboard.frame import STYLE
from tacit.service.dashboard.sessions import BrowserSession, Sessions

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" '
    'rx="7" fill="#0b6477"/><path d="M8 10h16M16 10v14" stroke="#fff" stroke-width="4" '
    'stroke-linecap="round"/></svg>'
)


def plain_page(
    title: str, content: str, /, *, status: int = 200, headers: dict[str, str] | None = None
) -> HTMLResponse:
    """Make a page around markup in which everything from outside is escaped already."""
    icon = f"data:image/svg+xml,{quote(ICON)}"
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · '
        'tacit</title><meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><link rel="icon" href="{icon}">'
        f'<style>{_style()}</style></head><body><header class="top"><div class="top-inner">'
        '<a class="brand" href="/" aria-label="tacit, list of runs">tacit</a></div></header>'
        f'<main class="page"><section class="card narrow"><h1>{escape(title)}</h1>{content}'
        "</section></main></body></html>",
        status_code=status,
        headers={"Content-Security-Policy": POLICY, **(headers or {})},
    )


@cache
def _style() -> str:
    style = STYLE.read_text()
    dark = style.split("body.body--dark {", 1)[1].split("}", 1)[0]
    return f"{style}\n@media (prefers-color-scheme: dark) {{ body {{{dark}}} }}"


# Where the gate leaves the session in the scope of a request.
SESSION = "tacit_session"
SOCKET = "/_nicegui_ws/"
OF_CLIENT = "/_nicegui/client/"
FILES = "/_nicegui/"
MESSAGES = ("handshake", "event", "javascript_response", "ack", "log")
MESSAGES_PER_MINUTE = 1800
"""Of one account. Somebody who types fast in a form that is looked through sends ten a second."""
PATIENCE_SECONDS = 5.0
OPEN_MESSAGE = {"sid": "none", "upgrades": [], "pingInterval": 25000, "pingTimeout": 20000}


class Gate:
    """Lets through whoever has a session, and others to the sign-in."""

    def __init__(self, app: ASGIApp, *, sessions: Sessions, platform: Platform, url: str) -> None:
        """`url` is the platform's address for browsers."""
        self._app, self._sessions, self._platform, self._url = app, sessions, platform, url
        self._by_message = RateLimit(MESSAGES_PER_MINUTE, what="messages")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused: Response | None
        try:
            session = await self._sessions.find(headers.get("cookie", ""))
        except StorageError:
            session, refused = None, _try_again()
        else:
            refused = self._refusal(scope, headers, session)
        # The pages and the check of socket messages read it here, so a cookie is looked up once.
        scope[SESSION] = session
        if scope["type"] == "websocket":
            if refused is None:
                if session is not None:
                    receive = self._counted(session.account, receive, send)
                await self._app(scope, receive, send)
            # Whoever signed out elsewhere still has pages open; those are told to reload.
            elif refused.status_code == HTTPStatus.UNAUTHORIZED:
                await ask_to_reload(receive, send)
            else:
                await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered = MutableHeaders(scope=message)
                # With no referrer at all, browsers do not say where a form comes from either.
                answered.setdefault("Referrer-Policy", "same-origin")
                answered.setdefault("Cache-Control", "no-store")
            await send(message)

        await (refused or self._app)(scope, receive, send_with_headers)

    def _counted(self, account: str, receive: Receive, send: Send) -> Receive:
        """Count what comes over a socket; whoever sends more than people do loses it."""

        async def receive_counted() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                try:
                    self._by_message.take(account)
                except TooManyError:
                    await send({"type": "websocket.close", "code": 1008})
                    return {"type": "websocket.disconnect", "code": 1008}
            return message

        return receive_counted

    def _count(self, scope: Scope, headers: Headers, session: BrowserSession | None) -> None:
        """Count a request before anything else is done for it, or raise a `TooManyError`."""
        path = scope["path"]
        if session is None:
            # Guesses of codes cost strangers their rate.
            client = (scope.get("client") or ("unknown",))[0]
            self._platform.by_address.take(network_of(client))
        elif scope["type"] == "http" and may_be_large(scope["method"], path):
            # Browsers say how long a file is; what does not, counts as the longest.
            announced = headers.get("content-length", "")
            most = int(self._platform.settings.request_limit_mb * 1_000_000)
            size = int(announced) if announced.isdigit() else most
            self._platform.intake.by_account.take(session.account, min(size, most))
        elif not path.startswith(FILES):
            # A page is built for each; styles and scripts come from a cache.
            self._platform.by_account.take(session.account)

    def _refusal(
        self, scope: Scope, headers: Headers, session: BrowserSession | None
    ) -> Response | None:
        path, is_socket = scope["path"], scope["type"] == "websocket"
        try:
            self._count(scope, headers, session)
        except TooManyError as error:
            wait = {"Retry-After": str(error.retry_after)}
            text = "<p>Wait a minute, then try again.</p>"
            return plain_page("Too many requests", text, status=429, headers=wait)
        if (is_socket or scope["method"] not in ("GET", "HEAD")) and not comes_from(
            headers, self._url, is_socket=is_socket
        ):
            text = "<p>This came from another site, or from something that is not a browser.</p>"
            return plain_page("Not from here", text, status=403)
        if path.startswith(SOCKET) and not is_socket:
            # A web socket says once whose it is; requests of a poll would have to do so each time.
            return PlainTextResponse("The dashboard needs web sockets.", status_code=403)
        # After the check of the origin, so that no other site signs anybody in.
        if path == "/sign-in":
            return None
        client_id = _client_id(scope)
        if session is None or (client_id is not None and not has_page(session, client_id)):
            if is_socket or path.startswith(FILES):
                return PlainTextResponse("Sign in first.", status_code=401)
            why = "&why=expired" if self._sessions.cookie in headers.get("cookie", "") else ""
            # Saving a file would leave the sign-in page where it is; its run has the link.
            after = quote(path.partition("/files/")[0])
            return RedirectResponse(f"/sign-in?next={after}{why}", status_code=303)
        return None


def _try_again() -> Response:
    text = "<p>The platform's database does not answer. Wait a moment, then try again.</p>"
    return plain_page("Try again", text, status=503, headers={"Retry-After": "5"})


def _client_id(scope: Scope) -> str | None:
    """Return the NiceGUI page that a request is about, if any."""
    path: str = scope["path"]
    if path.startswith(SOCKET):
        query: str = scope["query_string"].decode("latin-1")
        return parse_qs(query).get("client_id", [""])[0]
    return path.removeprefix(OF_CLIENT).split("/")[0] if path.startswith(OF_CLIENT) else None


def has_page(session: BrowserSession, client_id: object, /) -> bool:
    """Return whether a page was made for this session, and the session is valid."""
    # NiceGUI builds a page during the request that loaded it, and keeps that request.
    client = Client.instances.get(client_id) if isinstance(client_id, str) else None
    if client is None or session.token is None:
        return False
    return client.request.scope.get(SESSION) is session


def comes_from(headers: Headers, url: str, /, *, is_socket: bool) -> bool:
    """Return whether a browser says that a page of ours, at `url` or at the host asked, sent this.

    >>> ours = {"origin": "https://tacit.example", "host": "tacit.example"}
    >>> comes_from(Headers(ours), "https://tacit.example", is_socket=True)
    True
    >>> comes_from(Headers({**ours, "origin": "https://x"}), "https://x.example", is_socket=True)
    False
    """
    # Browsers set both and no script can change them. Sec-Fetch-Site is missing in older ones.
    site, origin = headers.get("sec-fetch-site"), headers.get("origin", "")
    if site not in (None, "same-origin"):
        return False
    if origin in ("", "null"):
        return site == "same-origin" and not is_socket
    asked = urlsplit(origin.lower())
    ours = urlsplit(url.lower())
    is_at_url = (asked.scheme, asked.netloc) == (ours.scheme, ours.netloc)
    return is_at_url or asked.netloc == headers.get("host", "").lower()


async def ask_to_reload(receive: Receive, send: Send, /) -> None:
    """Tell an old page, in the words of its protocol, to reload, which leads to the sign-in.

    A refused connection would have it try again for ever.
    """
    answer = {"message": "Implicit handshake failed"}
    # A client that says nothing must not hold the connection.
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.send", "text": f"0{json.dumps(OPEN_MESSAGE)}"})
            await receive()
            await send({"type": "websocket.send", "text": f"44{json.dumps(answer)}"})
            await receive()
    except TimeoutError:
        pass
    await send({"type": "websocket.close", "code": 1008})


def guard_socket() -> None:
    """Check that each message on the pages' web socket is about a page of its own session.

    NiceGUI takes a page's number in a message for a proof; these numbers are in addresses, though,
    which a proxy may write down.
    """
    # In place of NiceGUI's handlers, after it has registered them; an unknown one is a KeyError.
    handlers = core.sio.handlers["/"]
    for name in MESSAGES:
        core.sio.on(name, _guarded(handlers[name]))


def _guarded(handle: Callable[..., Any]) -> Callable[..., Any]:
    async def guarded(socket_id: str, message: object) -> object:
        scope = core.sio.get_environ(socket_id)["asgi.scope"]
        asked = message.get("client_id") if isinstance(message, dict) else None
        if scope.get(SESSION) is None or not has_page(scope[SESSION], asked):
            return False
        # Some handlers are coroutines, and some are not.
        done = handle(socket_id, message)
        return await done if isawaitable(done) else done

    return guarded
