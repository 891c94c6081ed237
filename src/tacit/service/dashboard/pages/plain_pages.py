"""Pages for everybody, as plain HTML: they cost next to nothing, and run no script at all."""

from __future__ import annotations

from functools import cache
from html import escape
from urllib.parse import quote

from fastapi.responses import HTMLResponse

from tacit.service.dashboard.frame import STYLE

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
    """A page around markup in which everything from outside is escaped already."""
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


def sign_in_page(problem: str | None, after: str, /) -> HTMLResponse:
    """The page that asks for a code or a token, and then leads to `after`."""
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
    """The page that says what signing out means before it is done."""
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


@cache
def _style() -> str:
    """The dashboard's style; without a script, dark is what the browser asks for."""
    style = STYLE.read_text()
    dark = style.split("body.body--dark {", 1)[1].split("}", 1)[0]
    return f"{style}\n@media (prefers-color-scheme: dark) {{ body {{{dark}}} }}"
