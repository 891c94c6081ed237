"""Signing in and out: a token in a signed, http-only cookie that other sites cannot send along."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import FastAPI, Form, Request
from fastapi.responses import RedirectResponse
from nicegui import app as pages
from nicegui import ui

from tacit.service.dashboard.api_client import ApiClient, RefusedError
from tacit.service.dashboard.frame import Visitor, copy_button, html, native, page_frame, section
from tacit.service.dashboard.words import moment

WHY = {
    "wrong": "This code or token is not valid. Codes work once; ask an operator for a new one.",
    "participant": "This code is for a participant. Join from your own computer, where your key "
    "stays: tacit participant join. Then sign in here with the token it shows.",
    "often": "Too many attempts. Wait a minute, then try again.",
    "expired": "Your access has ended or was revoked. Sign in again.",
    "trouble": "The platform could not check this. Try again, or ask its operator.",
}
COOKIE = "tacit_session"


async def visitor_or_sign_in(app: FastAPI, request: Request, /) -> Visitor | RedirectResponse:
    """Whose page this is, or the way to the sign-in page."""
    token = request.session.get("token")
    if not isinstance(token, str):
        return RedirectResponse(f"/sign-in?next={quote(request.url.path)}", status_code=303)
    api = ApiClient(app, token)
    try:
        me = await api.get("/me")
    except RefusedError as error:
        why = {401: "expired", 429: "often"}.get(error.status, "trouble")
        if why == "expired":
            request.session.pop("token", None)
        return RedirectResponse(f"/sign-in?why={why}", status_code=303)
    return Visitor(me["account"], me["role"], token, me["expires"], api)


def add_session_pages(app: FastAPI, /) -> None:
    """Add the pages that let people in and out."""

    @ui.page("/sign-in", title="Sign in · tacit")
    def sign_in(why: str = "", next: str = "/") -> None:
        with page_frame("Sign in", None):
            _sign_in_form(WHY.get(why), own_path(next))

    @pages.post("/sign-in")
    async def signed_in(
        request: Request,
        code: Annotated[str, Form(max_length=300)] = "",
        next: Annotated[str, Form(max_length=300)] = "/",
    ) -> RedirectResponse:
        if from_elsewhere(request):
            return RedirectResponse("/sign-in?why=trouble", status_code=303)
        address = request.client.host if request.client else "unknown"
        found = await _token_for(app, code.strip(), address)
        if found in WHY:
            return RedirectResponse(f"/sign-in?why={found}", status_code=303)
        request.session["token"] = found
        is_new = found != code.strip()
        return RedirectResponse("/access" if is_new else own_path(next), status_code=303)

    @pages.post("/sign-out")
    async def signed_out(request: Request) -> RedirectResponse:
        if not from_elsewhere(request):
            request.session.pop("token", None)
        return RedirectResponse("/sign-in", status_code=303)

    @ui.page("/access", title="Your access · tacit")
    async def access(request: Request) -> RedirectResponse | None:
        visitor = await visitor_or_sign_in(app, request)
        if isinstance(visitor, RedirectResponse):
            return visitor
        with page_frame("Your access", visitor):
            _access(visitor)
        return None


def own_path(path: str, /) -> str:
    """A path of ours, or the list of runs: nobody is led elsewhere by a link.

    >>> own_path("/runs/r-1"), own_path("//elsewhere.example"), own_path("https://elsewhere")
    ('/runs/r-1', '/', '/')
    """
    plain = path.startswith("/") and not path.startswith("//") and "\\" not in path
    return path if plain and "\n" not in path and "\r" not in path else "/"


def from_elsewhere(request: Request, /) -> bool:
    """Whether a browser says that another site sent this form."""
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


async def _token_for(app: FastAPI, code: str, address: str) -> str:
    """The token behind a code or a token, or a key of `WHY`."""
    if not code:
        return "wrong"
    try:
        await ApiClient(app, code, address=address).get("/me")
        return code
    except RefusedError as error:
        if error.status == 429:
            return "often"
    try:
        joined = await ApiClient(app, None, address=address).post(
            "/join", {"code": code, "label": "dashboard"}
        )
        return str(joined["token"])
    except RefusedError as error:
        if error.status == 422 and "key" in error.message:
            return "participant"
        return {429: "often"}.get(error.status, "wrong" if error.status < 500 else "trouble")


def _sign_in_form(problem: str | None, after: str) -> None:
    with ui.element("section").classes("card narrow"):
        native("h1", "Sign in")
        native("p", "With the one-time code of your invitation, or with your token.").classes(
            "lead"
        )
        if problem:
            native("p", problem).classes("problem").props('role="alert"')
        with ui.element("form").props('method="post" action="/sign-in"').classes("stack"):
            native("label", "Code or token").props('for="code"')
            ui.element("input").props(
                'id="code" name="code" type="password" required autocomplete="current-password" '
                'autofocus spellcheck="false"'
            )
            ui.element("input").props(f'type="hidden" name="next" value="{quote(after)}"')
            native("button", "Sign in").props('type="submit"').classes("main-button")


def _access(visitor: Visitor) -> None:
    native("h1", "Your access")
    what = {
        "operator": "You may create runs, invite, cancel and resume.",
        "participant": "You see the runs that you take part in. To review, sign and submit, use "
        "tacit participant on your own computer, where your key and your costs stay.",
        "viewer": "You may look at all runs, and change nothing.",
    }[visitor.role]
    with section(f"{visitor.account}, {visitor.role}"):
        native("p", what)
        native("p", f"Valid until {moment(visitor.expires)}.")
    with section("Your token"):
        native(
            "p",
            "It lets you in again, here or on another device, so keep it like a password. "
            "If you lose it, ask an operator for a new invitation.",
        )
        html('<p class="unseen">The token is hidden; copy it with the button.</p>')
        with ui.element("div").classes("actions"):
            copy_button(visitor.token, "Copy the token", shown="Copy the token")
