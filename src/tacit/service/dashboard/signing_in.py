"""Sign people in and out. The token behind a session stays on the platform."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import parse_qs, quote

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from nicegui import app as pages

from tacit.client import Join, JoinAnswer, Me
from tacit.errors import CredentialError, InternalError, OverloadedError, ServiceError, TooManyError
from tacit.service.access.credentials import CODE_PREFIX, TOKEN_PREFIX
from tacit.service.api.gate import Platform
from tacit.service.dashboard.frame import (
    Visitor,
)
from tacit.service.dashboard.gate import SESSION, plain_page
from tacit.service.dashboard.sessions import ApiClient, BrowserSession, Sessions


def sign_in_page(problem: str | None, after: str, /) -> HTMLResponse:
    alert = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    return plain_page(
        "Sign in",
        '<p class="lead">With the one-time code of your invitation, or with your token.</p>'
        f'{alert}<form method="post" action="/sign-in" class="stack">'
        '<label for="code">Code or token</label><input id="code" name="code" type="password" '
        'required autocomplete="current-password" autofocus spellcheck="false">'
        f'<input type="hidden" name="next" value="{escape(after)}">'
        '<button type="submit" class="main-button">Sign in</button></form>',
    )


def sign_out_page(problem: str | None, /, *, is_kept: bool) -> HTMLResponse:
    alert = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    meaning = "<p>You come in again with your token.</p>"
    if not is_kept:
        meaning = (
            "<p>You signed in with a one-time code, which is used up, and have not kept a token. "
            "Signing out ends this access for good: to come back you need a new code, from an "
            "operator or from <code>tacit service invite</code> on the platform's host.</p>"
            '<p><a href="/access">Keep a token first</a></p>'
        )
    return plain_page(
        "Sign out",
        f'{alert}{meaning}<form method="post" action="/sign-out" class="stack">'
        '<input type="hidden" name="sure" value="yes">'
        '<button type="submit" class="main-button">Sign out</button></form>',
    )


WHY = {
    "wrong": "This code or token is not valid. Codes work once; ask an operator for a new one.",
    "participant": "This code is for a participant. Join from your own computer, where your key "
    "stays: tacit participant join. Then sign in here with the token it shows.",
    "often": "Too many attempts. Wait a minute, then try again.",
    "expired": "Your session has ended, or your access was revoked. Sign in with your token or "
    "with a new code.",
    "trouble": "The platform could not do this. Try again, or ask its operator.",
}
MOST_BYTES = 4096
SECRET = re.compile(rf"(?:{TOKEN_PREFIX}|{CODE_PREFIX})[A-Za-z0-9_-]{{1,100}}")


async def visitor_or_sign_in(app: FastAPI, request: Request, /) -> Visitor | RedirectResponse:
    """Return the visitor of a session, or the way to the sign-in page."""
    session: BrowserSession = request.scope[SESSION]
    api = ApiClient(app, session)
    try:
        me = await api.get("/me", Me)
    except ServiceError as error:
        why = "often" if isinstance(error, TooManyError) else "trouble"
        # The account was revoked or its token ran out, so the session is of no use any more.
        if isinstance(error, CredentialError):
            why, session.token = "expired", None
        return RedirectResponse(f"/sign-in?why={why}", status_code=303)
    platform: Platform = app.state.platform
    return Visitor(me.account, me.role, session, api, platform.background, platform.announcer)


def add_session_pages(app: FastAPI, sessions: Sessions, /) -> None:
    @pages.get("/sign-in")
    async def sign_in(why: str = "", next: str = "/") -> Response:
        return sign_in_page(WHY.get(why), own_path(next))

    @pages.post("/sign-in")
    async def signed_in(request: Request) -> Response:
        form = await read_form(request)
        address = request.client.host if request.client else "unknown"
        session = await _session_for(app, form.get("code", "").strip(), address)
        after = own_path(form.get("next", "/"))
        if isinstance(session, str):
            return RedirectResponse(f"/sign-in?why={session}&next={quote(after)}", status_code=303)
        # Whoever came with a code is led to the page that offers the token to keep.
        response = RedirectResponse(after if session.is_kept else "/access", status_code=303)
        try:
            await sessions.begin(session, response)
        except ServiceError:
            return RedirectResponse(f"/sign-in?why=trouble&next={quote(after)}", status_code=303)
        if request.scope[SESSION] is not None:
            # The browser forgets the number of the session before; nobody could end that one later.
            await sessions.end(request.scope[SESSION])
        return response

    @pages.get("/sign-out")
    async def sign_out(request: Request, why: str = "") -> Response:
        return sign_out_page(WHY.get(why), is_kept=request.scope[SESSION].is_kept)

    @pages.post("/sign-out")
    async def signed_out(request: Request) -> Response:
        session: BrowserSession = request.scope[SESSION]
        # The only way in would be lost, so this is asked first.
        if not session.is_kept and (await read_form(request)).get("sure") != "yes":
            return RedirectResponse("/sign-out", status_code=303)
        try:
            await sessions.end(session)
        except ServiceError:
            return RedirectResponse("/sign-out?why=trouble", status_code=303)
        response = RedirectResponse("/sign-in", status_code=303)
        sessions.take_cookie(response)
        return response


def own_path(path: str, /) -> str:
    """Return a path of the platform, or the list of runs: no link leads to another site.

    >>> own_path("/runs/r-1"), own_path("//elsewhere.example"), own_path("https://elsewhere")
    ('/runs/r-1', '/', '/')
    """
    is_plain = re.fullmatch(r"/(?:[A-Za-z0-9._~-][A-Za-z0-9._~/-]*)?", path) is not None
    return path if is_plain and len(path) <= 300 else "/"


async def read_form(request: Request, /) -> dict[str, str]:
    """Return the fields of a small form; of anything else, none."""
    body = b""
    async for part in request.stream():
        body += part
        # Strangers may send this form: not more of it is read than a secret can have.
        if len(body) > MOST_BYTES:
            return {}
    # Bytes that are not UTF-8 become a character that no code contains.
    fields = parse_qs(body.decode("ascii", "replace"), errors="replace", max_num_fields=None)
    return {name: values[0] for name, values in fields.items()}


async def _session_for(app: FastAPI, secret: str, address: str) -> BrowserSession | str:
    """Return the session that a code or a token opens, or a key of `WHY`."""
    # No request for what cannot be a secret, and nothing of it in any message.
    if SECRET.fullmatch(secret) is None:
        return "wrong"
    session = BrowserSession(secret, is_kept=True)
    try:
        if secret.startswith(CODE_PREFIX):
            stranger = ApiClient(app, None, address=address)
            # A code is used up by this, so the session's token exists nowhere else yet.
            joined = await stranger.post("/join", Join(code=secret, label="dashboard"), JoinAnswer)
            session = BrowserSession(joined.token, is_kept=False)
        me = await ApiClient(app, session, address=address).get("/me", Me)
    except ServiceError as error:
        if error.status == 422 and "key" in str(error):
            return "participant"
        if isinstance(error, TooManyError):
            return "often"
        return "trouble" if isinstance(error, (OverloadedError, InternalError)) else "wrong"
    session.account, session.expires = me.account, me.expires
    return session
