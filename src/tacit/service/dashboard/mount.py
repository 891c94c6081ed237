"""Put the pages into the platform's app, once per process: NiceGUI has one app of its own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import TypeVar
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse, Response
from nicegui import app as pages
from nicegui import ui

from tacit.client import RunView, SeriesView
from tacit.errors import ServiceError, TacitError
from tacit.service.api.gate import Platform
from tacit.service.dashboard.access_pages import access_page, people_page
from tacit.service.dashboard.draft_page import (
    copy_run_page,
    copy_series_page,
    edit_run_page,
    new_run_page,
    new_series_page,
    series_of_run_page,
)
from tacit.service.dashboard.frame import STYLE, Visitor, native, page_frame
from tacit.service.dashboard.gate import ICON, Gate, guard_socket, plain_page
from tacit.service.dashboard.log_check import LogChecks
from tacit.service.dashboard.nodes import nodes_page
from tacit.service.dashboard.run_page import Curves, run_page
from tacit.service.dashboard.runs_page import runs_page
from tacit.service.dashboard.series_pages import series_list_page, series_page
from tacit.service.dashboard.sessions import Sessions
from tacit.service.dashboard.signing_in import add_session_pages, visitor_or_sign_in
from tacit.service.dashboard.words import sentence
from tacit.service.server.settings import Settings

# What can be downloaded of a run, and where the API has it.
FILES = {
    "result.json": "result",
    "result.csv": "result.csv",
    "progress.csv": "progress.csv",
    "ledger.jsonl": "ledger",
    "agreement.json": "agreement",
    "audit.zip": "bundle",
}
NAMES = {"runs": "run", "series": "series"}
PATHS = {RunView: "runs", SeriesView: "series"}
PAGE_SECONDS = 60.0
"""So long a page may take to be built, which waits for the API on a busy machine; then it is an
error. NiceGUI's own limit of 3 s made errors of pages that were only slow."""
T = TypeVar("T", RunView, SeriesView)


def mount(app: FastAPI, settings: Settings, /) -> None:
    """Add the dashboard to the platform's app, behind all routes that it has by now."""
    platform: Platform = app.state.platform
    sessions = Sessions(platform.database, https=settings.is_https)
    # Order matters: pages and routes first, then NiceGUI, then the gate in front of all of them.
    ui.add_css(STYLE.read_text(), shared=True)
    add_session_pages(app, sessions)
    _add_pages(app)
    _add_pages_of_one(app, Curves(), LogChecks(platform.background))
    _add_downloads(app)
    _add_plain_errors()
    # What NiceGUI could keep of visitors in files or cookies is not used, hence no secret for it.
    ui.run_with(
        app,
        title="tacit",
        dark=None,
        language="en-US",
        favicon=ICON,
        tailwind=False,
        show_welcome_message=False,
        reconnect_timeout=30.0,
    )
    # A web socket says once whose it is. The gate refuses polling.
    pages.config.socket_io_js_transports = ["websocket"]
    guard_socket()
    pages.add_middleware(Gate, sessions=sessions, platform=platform, url=settings.url)


def _add_pages(app: FastAPI) -> None:
    def add(
        path: str, show: Callable[[Visitor], Awaitable[None]], *, for_operators: bool = False
    ) -> None:
        @ui.page(path, response_timeout=PAGE_SECONDS)
        async def page(request: Request) -> Response | None:
            visitor = await visitor_or_sign_in(app, request)
            if isinstance(visitor, RedirectResponse):
                return visitor
            if for_operators and not visitor.is_operator:
                return RedirectResponse("/", status_code=303)
            await show(visitor)
            return None

    add("/", runs_page)
    add("/nodes", nodes_page)
    add("/series", series_list_page)
    add("/series/new", new_series_page, for_operators=True)
    add("/new", new_run_page, for_operators=True)
    add("/people", people_page, for_operators=True)
    add("/access", access_page)


def _add_pages_of_one(app: FastAPI, curves: Curves, checks: LogChecks) -> None:
    def add(
        kind: type[T],
        ending: str,
        show: Callable[[Visitor, T], Awaitable[None]],
        *,
        for_operators: bool = True,
    ) -> None:
        what = PATHS[kind]

        @ui.page(f"/{what}/{{number}}{ending}", response_timeout=PAGE_SECONDS)
        async def page(request: Request, number: str) -> Response | None:
            visitor = await visitor_or_sign_in(app, request)
            if isinstance(visitor, RedirectResponse):
                return visitor
            if for_operators and not visitor.is_operator:
                return RedirectResponse(f"/{what}/{quote(number, safe='')}", status_code=303)
            try:
                record = await visitor.api.get(f"/{what}/{quote(number, safe='')}", kind)
            except ServiceError as error:
                with page_frame("Not there", visitor):
                    native("h1", f"This {NAMES[what]} is not there")
                    native("p", sentence(str(error)))
                    ui.link("All runs", "/")
                return None
            try:
                await show(visitor, record)
            except TacitError as error:
                # Such as a kind of problem that is not installed any more.
                with page_frame("Not possible", visitor):
                    native("h1", f"This {NAMES[what]} cannot be shown")
                    native("p", sentence(str(error)))
            return None

    async def shown_run(visitor: Visitor, run: RunView) -> None:
        await run_page(visitor, run, curves, checks)

    add(RunView, "", shown_run, for_operators=False)
    add(RunView, "/edit", edit_run_page)
    add(RunView, "/copy", copy_run_page)
    add(RunView, "/series", series_of_run_page)
    add(SeriesView, "", series_page, for_operators=False)
    add(SeriesView, "/copy", copy_series_page)


def _add_downloads(app: FastAPI) -> None:
    @pages.get("/runs/{run_id}/files/{name}")
    async def download(request: Request, run_id: str, name: str) -> Response:
        visitor = await visitor_or_sign_in(app, request)
        if isinstance(visitor, RedirectResponse):
            return visitor
        # Names are looked up, so no path of the API can be made up here.
        if name not in FILES:
            return Response("There is no such file.", status_code=404)
        path = quote(run_id, safe="")
        try:
            answer = await visitor.api.fetch(f"/runs/{path}/{FILES[name]}")
        except ServiceError as error:
            text = f'<p>{escape(sentence(str(error)))}</p><p><a href="/runs/{path}">The run</a></p>'
            return plain_page("No file", text, status=error.status)
        kind = answer.headers.get("content-type", "application/octet-stream")
        headers = {"Content-Disposition": f'attachment; filename="{path}-{name}"'}
        return Response(answer.content, media_type=kind, headers=headers)


def _add_plain_errors() -> None:
    """Replace NiceGUI's pages for errors, which are costly and show the error's text."""

    async def not_there(_request: Request, _error: Exception) -> Response:
        return plain_page(
            "Not there", '<p>There is no such page.</p><p><a href="/">All runs</a></p>', status=404
        )

    async def went_wrong(request: Request, _error: Exception) -> Response:
        number = request.scope.get("tacit_request", "-")
        text = f"<p>Try again, or give the operator the number {number}.</p>"
        return plain_page("Something went wrong", text, status=500)

    pages.add_exception_handler(404, not_there)
    pages.add_exception_handler(Exception, went_wrong)
